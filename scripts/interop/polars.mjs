// Asks Polars, in SQL, file by file. Its Node.js binding can compute with binary values but not
// show them, so ids are counted between two bounds.
import pl from 'nodejs-polars'
import { readFileSync } from 'node:fs'
import { Answer, blocks, report } from './report.mjs'

// A path would have to end in .ipc: anything else is taken for the content itself.
const read = (path) => pl.readIPC(readFileSync(path))

const rows = (t, sql) => new pl.SQLContext({ t }).execute(sql, { eager: true }).toRecords()

const digits = [...'0123456789abcdef']

const integer = 'CAST(x AS BIGINT)'

const extremes = (part) => `CAST(COUNT(x) AS VARCHAR) AS count, CAST(SUM(${part}) AS VARCHAR) AS sum, CAST(MIN(${integer}) AS VARCHAR) AS min, CAST(MAX(${integer}) AS VARCHAR) AS max`

const summaries = {
	integer: extremes(integer),
	time: extremes(`${integer} % 1000000000`),
	double: 'CAST(COUNT(x) AS VARCHAR) AS count, SUM(x) AS sum, MIN(x) AS min, MAX(x) AS max',
	text: 'CAST(COUNT(x) AS VARCHAR) AS count, CAST(SUM(OCTET_LENGTH(CAST(x AS VARCHAR))) AS VARCHAR) AS bytes',
}

const additions = {
	group(sum, t) {
		for (const { key, n } of rows(t, 'SELECT CAST(x AS VARCHAR) AS key, COUNT(*) AS n FROM t GROUP BY x')) sum.add(key ?? '', BigInt(n))
	},
	id(sum, t) {
		const above = digits.map((d) => `SUM(CASE WHEN x >= x'${d}0' THEN 1 ELSE 0 END) AS "${d}"`)
		const [n] = rows(t, `SELECT COUNT(*) AS all, COUNT(x) AS here, ${above.join(', ')} FROM t`)
		if (n.all > n.here) sum.add('', BigInt(n.all - n.here))
		digits.forEach((d, i) => {
			const count = n[d] - (n[digits[i + 1]] ?? 0)
			if (count > 0) sum.add(d, BigInt(count))
		})
	},
}

function summary(sum, t, how) {
	const [s] = rows(t, `SELECT ${summaries[how]} FROM t`)
	const value = how === 'double' ? Number : BigInt
	sum.add('count', BigInt(s.count))
	if (s.count === '0') return
	if (how === 'text') return sum.add('bytes', BigInt(s.bytes))
	sum.add('sum', value(s.sum))
	sum.range(value(s.min))
	sum.range(value(s.max))
}

function answer(question) {
	const { signal, column, how, list, member } = question
	const sum = new Answer(question)
	for (const { path } of blocks(signal)) {
		const df = read(path)
		if (!df.columns.includes(column)) {
			if (additions[how]) sum.add('', BigInt(df.height))
			continue
		}
		let x = pl.col(column)
		if (list) {
			const [{ n }] = rows(df, `SELECT SUM(ARRAY_LENGTH("${column}")) AS n FROM t`)
			sum.add('elements', BigInt(n ?? 0))
			x = x.explode()
		}
		if (member) x = x.struct.field(member)
		const t = df.select(x.alias('x'))
		if (additions[how]) additions[how](sum, t)
		else summary(sum, t, how)
	}
	return sum
}

function columns({ path }) {
	const df = read(path)
	const counts = {}
	for (const column of df.columns) {
		const series = df.getColumn(column)
		let values = df.height - series.nullCount()
		try {
			values = rows(df, `SELECT SUM(ARRAY_LENGTH("${column}")) AS n FROM t`)[0].n ?? 0
		} catch {
			// not a list
		}
		counts[column] = String(values)
	}
	return { rows: String(df.height), columns: counts }
}

report(answer, columns)
