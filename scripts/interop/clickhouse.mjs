// Asks ClickHouse, which runs inside this process. All blocks of a signal are one table, with the
// columns of them all and the types that ClickHouse finds; tables.mjs does without that setting.
// Each file by itself is read as ClickHouse describes it.
import { query } from 'chdb'
import { join } from 'node:path'
import { dataDir, report } from './report.mjs'

const rows = (sql) => JSON.parse(query(`${sql} SETTINGS schema_inference_mode='union', output_format_json_quote_64bit_integers=1, output_format_json_quote_denormals=1`, 'JSON')).data

const text = (s) => `'${s.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
const name = (s) => '`' + s.replaceAll('\\', '\\\\').replaceAll('`', '\\`') + '`'

const extremes = (x, part) => `toString(count(${x})) AS count, toString(sum(toInt128(${part}))) AS sum, toString(min(${x})) AS min, toString(max(${x})) AS max`

const nanoseconds = 'toUnixTimestamp64Nano(x)'

const summaries = {
	integer: extremes('x', 'x'),
	time: extremes(nanoseconds, `${nanoseconds} % 1000000000`),
	double: 'toString(count(x)) AS count, sum(x) AS sum, min(x) AS min, max(x) AS max',
	text: 'toString(count(x)) AS count, toString(sum(length(x))) AS bytes',
}

const groups = {
	group: "ifNull(toString(x), '')",
	id: "ifNull(lower(left(hex(x), 1)), '')",
}

function answer({ signal, column, how, list, member }) {
	const glob = join(dataDir, 'blocks', signal, '*', '*.arrow')
	let from = `SELECT ${name(column)} AS x FROM file(${text(glob)}, Arrow)`
	if (list) from = `SELECT arrayJoin(x) AS x FROM (${from})`
	if (member) from = `SELECT tupleElement(x, ${text(member)}) AS x FROM (${from})`
	if (groups[how]) {
		const counts = rows(`SELECT ${groups[how]} AS key, toString(count()) AS n FROM (${from}) GROUP BY key`)
		return Object.fromEntries(counts.map(({ key, n }) => [key, n]))
	}
	const [sums] = rows(`SELECT ${list ? 'toString(count()) AS elements, ' : ''}${summaries[how]} FROM (${from})`)
	return Object.fromEntries(Object.entries(sums).filter(([, v]) => v !== null))
}

function columns({ path }) {
	const from = `file(${text(path)}, Arrow)`
	const described = rows(`DESCRIBE ${from}`)
	const values = described.map((c) => `toString(${c.type.startsWith('Array') ? `sum(length(${name(c.name)}))` : `count(${name(c.name)})`}) AS ${name(c.name)}`)
	// The text of whole rows needs every value.
	const [counts] = rows(`SELECT ${values.join(', ')} FROM ${from}`)
	const [all] = rows(`SELECT count() AS rows, sum(length(toString(tuple(*)))) AS length FROM ${from}`)
	if (all.length === '0') throw new Error(`${path}: rows without text`)
	return { rows: all.rows, columns: counts }
}

report(answer, columns)
