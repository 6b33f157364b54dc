// Asks the JavaScript implementation of Arrow: it visits every value of every file, and computes
// here. It leaves zstd to the program.
import { compressionRegistry, CompressionType, DataType, tableFromIPC } from 'apache-arrow'
import { decompress } from 'fzstd'
import { readFileSync } from 'node:fs'
import { Answer, blocks, report } from './report.mjs'

// A copy, because Arrow wants its buffers aligned.
compressionRegistry.set(CompressionType.ZSTD, { decode: (bytes) => decompress(bytes).slice() })

const tables = new Map()

function read(path) {
	if (!tables.has(path)) tables.set(path, tableFromIPC(readFileSync(path)))
	return tables.get(path)
}

function number(sum, x, part = x) {
	sum.add('count', 1n)
	sum.add('sum', part)
	sum.range(x)
}

const additions = {
	group: (sum, x) => sum.add(String(x ?? ''), 1n),
	id: (sum, x) => sum.add(x === null ? '' : (x[0] >> 4).toString(16), 1n),
	integer: (sum, x) => x !== null && number(sum, BigInt(x)),
	time: (sum, x) => x !== null && number(sum, x, x % 1000000000n),
	double: (sum, x) => x !== null && number(sum, x),
	text(sum, x) {
		if (x === null) return
		sum.add('count', 1n)
		sum.add('bytes', BigInt(Buffer.byteLength(x)))
	},
}

/** The times of a vector in nanoseconds; its own get would round them to milliseconds. */
function* times(vector) {
	for (const data of vector.data) {
		for (let i = 0; i < data.length; i++) yield data.getValid(i) ? data.values[i] : null
	}
}

function answer(question) {
	const { signal, column, how, list, member } = question
	const sum = new Answer(question)
	const one = (x) => additions[how](sum, x ?? null)
	for (const { path } of blocks(signal)) {
		const table = read(path)
		const vector = table.getChild(column)
		if (vector === null) {
			if (how === 'group' || how === 'id') sum.add('', BigInt(table.numRows))
			continue
		}
		for (const x of how === 'time' ? times(vector) : vector) {
			if (!list) one(x)
			else {
				for (const y of x ?? []) {
					sum.add('elements', 1n)
					one(member ? y[member] : y)
				}
			}
		}
	}
	return sum
}

function columns({ path }) {
	const table = read(path)
	const counts = {}
	for (const { name, type } of table.schema.fields) {
		let n = 0
		for (const x of table.getChild(name)) {
			if (x === null) continue
			n += DataType.isList(type) ? x.length : 1
			if (DataType.isList(type)) JSON.stringify(x, (_, v) => (typeof v === 'bigint' ? String(v) : v))
		}
		counts[name] = String(n)
	}
	return { rows: String(table.numRows), columns: counts }
}

report(answer, columns)
