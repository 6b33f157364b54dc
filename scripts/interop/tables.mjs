// Asks ClickHouse and Polars about columns in all blocks of a signal at once, without a word about
// types or settings: both take the schema of one file for all. `mixed` in tables.json says that
// a column has a dictionary in some files only; Polars then refuses, and its answer is null.
import { query } from 'chdb'
import pl from 'nodejs-polars'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dataDir } from './report.mjs'

const questions = JSON.parse(readFileSync(new URL('tables.json', import.meta.url)))

const summaries = {
	clickhouse: {
		integer: 'toString(sum(toInt128(x))) AS sum, toString(min(x)) AS min, toString(max(x)) AS max',
		text: 'toString(sum(length(x))) AS bytes',
	},
	polars: {
		integer: 'CAST(SUM(CAST(x AS BIGINT)) AS VARCHAR) AS sum, CAST(MIN(x) AS VARCHAR) AS min, CAST(MAX(x) AS VARCHAR) AS max',
		text: 'CAST(SUM(OCTET_LENGTH(CAST(x AS VARCHAR))) AS VARCHAR) AS bytes',
	},
}

function clickhouse({ signal, column, how, list }) {
	const glob = join(dataDir, 'blocks', signal, '*', '*.arrow')
	const from = `SELECT ${list ? 'arrayJoin' : ''}(\`${column}\`) AS x FROM file('${glob}', Arrow)`
	return JSON.parse(query(`SELECT toString(count(x)) AS count, ${summaries.clickhouse[how]} FROM (${from})`, 'JSON')).data[0]
}

function polars({ signal, column, how, list, mixed }) {
	const x = list ? pl.col(column).explode() : pl.col(column)
	const files = pl.scanIPC(join(dataDir, 'blocks', signal)).select(x.alias('x'))
	let t
	try {
		t = files.collectSync()
	} catch (error) {
		if (mixed) return null
		throw error
	}
	return new pl.SQLContext({ t }).execute(`SELECT CAST(COUNT(x) AS VARCHAR) AS count, ${summaries.polars[how]} FROM t`, { eager: true }).toRecords()[0]
}

const report = { clickhouse: {}, polars: {} }
for (const question of questions) {
	for (const [reader, ask] of Object.entries({ clickhouse, polars })) {
		const sums = ask(question)
		// No element of a list is null, so far.
		report[reader][`${question.signal}/${question.column}`] = question.list ? { elements: sums.count, ...sums } : sums
	}
}
process.stdout.write(JSON.stringify(report))
