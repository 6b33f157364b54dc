// What the three readers have in common: where the blocks lie, what is asked, and how the answers
// of several files become one. A report is one JSON document on the standard output:
//
//   answers   "logs/severity_text" -> {"INFO": "17", …}; strings are exact, numbers nearly so
//   files     "logs/….arrow" -> {rows, columns: {name: values that are not null, or elements}}
//
// Questions are in questions.json. `how` says what to do with the values of a column, or with the
// elements of a column of lists, or with one member of those:
//
//   group     count them by value, absent ones under ""
//   integer   count, sum, min, max
//   double    the same, sums nearly so
//   time      count, nanoseconds of the second summed, min and max in nanoseconds
//   text      count and bytes
//   id        count them by their first hexadecimal digit
//
// `default` is for whoever knows values that blocks do not store.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const questions = JSON.parse(readFileSync(new URL('questions.json', import.meta.url)))

export const signals = ['logs', 'traces', 'metrics']

export const dataDir = process.argv[2]

/** The blocks of a signal, below the data directory's blocks/. */
export function blocks(signal) {
	const root = join(dataDir, 'blocks')
	return readdirSync(join(root, signal), { recursive: true })
		.filter((name) => name.endsWith('.arrow'))
		.map((name) => ({ name: join(signal, name), path: join(root, signal, name) }))
}

/** One answer in the making: add what each file says. */
export class Answer {
	#how
	#totals = new Map()

	constructor({ how, list }) {
		this.#how = how
		if (list) this.#totals.set('elements', 0n)
		if (how !== 'group' && how !== 'id') this.#totals.set('count', 0n)
	}

	add(key, value) {
		const sum = this.#totals.get(key)
		this.#totals.set(key, sum === undefined ? value : sum + value)
	}

	/** range takes a bigint or a number as an extreme so far. */
	range(value) {
		const min = this.#totals.get('min')
		const max = this.#totals.get('max')
		if (min === undefined || value < min) this.#totals.set('min', value)
		if (max === undefined || value > max) this.#totals.set('max', value)
	}

	toJSON() {
		const near = (key) => this.#how === 'double' && ['sum', 'min', 'max'].includes(key)
		return Object.fromEntries([...this.#totals].map(([k, v]) => [k, near(k) ? Number(v) : String(v)]))
	}
}

/** Asks every question with answer(question) and every file with columns(block), and reports. */
export function report(answer, columns) {
	const answers = {}
	for (const question of questions) {
		answers[`${question.signal}/${question.column}`] = answer(question)
	}
	const files = {}
	for (const signal of signals) {
		for (const block of blocks(signal)) files[block.name] = columns(block)
	}
	process.stdout.write(JSON.stringify({ answers, files }))
}
