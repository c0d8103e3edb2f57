// Rules about workers, such as `region = eu and gpu > 1`: read once when a job is defined, asked for each worker.
// Whatever the text, reading it ends in a rule or a typed refusal that names the place, in time that grows with its length.
//
// rule = both {"or" both}    both = one {"and" one}    one = "not" one | "(" rule ")" | comparison
// comparison = name ("=" | "!=" | "<" | "<=" | ">" | ">=") value | name "in" "(" value {"," value} ")"
import * as Result from "effect/Result"
import { InvalidInput } from "../domain/Errors.ts"
import { quote } from "../domain/TimeSpan.ts"
import { type Operator, readTokens, type Token } from "./RuleTokens.ts"
import { compareVersions, readVersion, type Version } from "./Version.ts"

/** What rules ask about: a worker's labels, and its `worker`, `runtime` and `version` under these names. */
export type Labels = Readonly<Record<string, string | number | boolean>>

/** A rule that was read. */
export interface LabelRule {
  /** As it was written. */
  readonly text: string
  readonly term: Term
}

/** A part of a rule, and where its text begins and ends. */
export type Term = { readonly from: number; readonly to: number } & (
  | { readonly kind: "all" | "any"; readonly terms: ReadonlyArray<Term> }
  | { readonly kind: "not"; readonly term: Term }
  | {
      readonly kind: "compare"
      readonly name: string
      readonly operator: Operator | "in"
      readonly values: ReadonlyArray<Value>
    }
)

interface Value {
  readonly text: string
  /** Written as a number, without quotes. */
  readonly number: number | null
  /** Read for comparisons of `version` only. */
  readonly version: Version | null
}

/** The longest rule, in characters. */
export const ruleLengthMax = 512
/** How deep parentheses and `not` may stand in one another. */
export const ruleNestingMax = 16

/**
 * Reads a rule. Names and values are words, or texts in double quotes (with `\"` and `\\`), in which everything is allowed;
 * `and`, `or`, `not` and `in` in any case are words of the language, and `and` binds more tightly than `or`. `field` names
 * the rule in a refusal, whose `position` is the offset of what is wrong.
 */
export const readRule = (field: string, text: unknown): Result.Result<LabelRule, InvalidInput> => {
  const refuse = (position: number, reason: string, next: string) =>
    Result.fail(
      new InvalidInput({ field, reason: `${reason} (at character ${position + 1})`, next, position }),
    )
  if (typeof text !== "string")
    return Result.fail(new InvalidInput({ field, reason: `${quote(text)} is no rule`, next: example }))
  if (text.length > ruleLengthMax)
    return refuse(
      ruleLengthMax,
      `a rule of ${text.length} characters is not allowed`,
      `Use at most ${ruleLengthMax}; \`in\` and labels that stand for several others make it shorter.`,
    )
  const tokens = readTokens(text)
  if ("fault" in tokens) return refuse(...tokens.fault)
  const reader = new Reader(tokens.tokens)
  const term = reader.rule()
  return reader.fault === null ? Result.succeed({ text, term }) : refuse(...reader.fault)
}

const example = "Write one such as `region = eu and gpu > 1`."

/** Place, reason and next step. */
type Fault = readonly [position: number, reason: string, next: string]

/** Goes through the tokens once. After the first fault it stands at the end, and what it answers is of no interest. */
class Reader {
  fault: Fault | null = null
  readonly #tokens: ReadonlyArray<Token>
  #at = 0
  #nesting = 0

  constructor(tokens: ReadonlyArray<Token>) {
    this.#tokens = tokens
  }

  /** The whole text. */
  rule(): Term {
    const term = this.#either()
    const { kind, from, text } = this.#token
    if (kind === "end") return term
    if (text === ")") return this.#fail(from, '")" closes nothing', 'Remove it, or write the "(" before.')
    return this.#fail(from, `${quote(text)} follows what is complete`, "Join comparisons by `and` or `or`.")
  }

  #either(): Term {
    return this.#joined("or", "any", () => this.#joined("and", "all", () => this.#one()))
  }

  #joined(word: string, kind: "all" | "any", next: () => Term): Term {
    const first = next()
    const terms = [first]
    while (this.#took(word)) terms.push(next())
    return terms.length === 1 ? first : { kind, terms, from: first.from, to: (terms.at(-1) as Term).to }
  }

  #one(): Term {
    const { from } = this.#token
    if (this.#took("not")) {
      const term = this.#deeper(() => this.#one())
      return { kind: "not", term, from, to: term.to }
    }
    if (!this.#took("(")) return this.#comparison()
    const term = this.#deeper(() => this.#either())
    const { to } = this.#token
    if (this.#took(")")) return { ...term, from, to }
    return this.#fail(from, '"(" is not closed', 'Write the ")" that belongs to it.')
  }

  #deeper(read: () => Term): Term {
    if (++this.#nesting > ruleNestingMax) {
      const reason = `more than ${ruleNestingMax} parentheses and \`not\` stand in one another`
      return this.#fail(
        this.#token.from,
        reason,
        "Write a simpler rule, or give workers a label that stands for it.",
      )
    }
    const term = read()
    this.#nesting--
    return term
  }

  #comparison(): Term {
    const name = this.#token
    if (name.kind !== "word" && name.kind !== "text")
      return this.#fail(name.from, `the name of a label is missing${before(name)}`, example)
    this.#at++
    const sign = this.#token
    const of = { name: name.text, from: name.from }
    if (sign.kind === "operator") {
      this.#at++
      const value = this.#value(name.text, sign.text as Operator)
      return { kind: "compare", ...of, operator: sign.text as Operator, values: [value], to: this.#endOfLast }
    }
    if (this.#took("in")) {
      const values = this.#list(name.text)
      return { kind: "compare", ...of, operator: "in", values, to: this.#endOfLast }
    }
    const next =
      sign.kind === "keyword" && sign.text === "not"
        ? `Write \`not ${name.text} in (...)\`.`
        : `Write one of =, !=, <, <=, >, >=, in behind it, such as \`${name.text} = true\`.`
    return this.#fail(sign.from, `${quote(name.text)} is compared with nothing`, next)
  }

  #list(name: string): ReadonlyArray<Value> {
    const { from } = this.#token
    const values: Array<Value> = []
    if (!this.#took("(")) this.#fail(from, "`in` has no list", `Write it like \`${name} in (a, b)\`.`)
    do values.push(this.#value(name, "in"))
    while (this.#took(","))
    if (!this.#took(")"))
      this.#fail(this.#token.from, 'the list has no ")"', "Write values with commas between them.")
    return values
  }

  #value(name: string, operator: Operator | "in"): Value {
    const { kind, text, from } = this.#token
    if (kind !== "word" && kind !== "text") {
      this.#fail(
        from,
        `a value is missing${before(this.#token)}`,
        "Write a word, a number, or a text in double quotes.",
      )
      return { text, number: null, version: null }
    }
    this.#at++
    const isVersion = name === "version"
    const value = {
      text,
      number: kind === "word" && !isVersion ? numberOf(text) : null,
      version: isVersion ? readVersion(text) : null,
    }
    const isEquality = operator === "=" || operator === "!=" || operator === "in"
    if (isEquality || (isVersion ? value.version : value.number) !== null) return value
    const what = isVersion ? "a version, such as 2.1" : "a number without quotes, such as 2"
    this.#fail(
      from,
      `${quote(text)} is not ${what}, and only such are less or more`,
      "Compare it by =, != or in.",
    )
    return value
  }

  get #token(): Token {
    return this.#tokens[this.#at] as Token
  }

  get #endOfLast(): number {
    return this.#tokens[this.#at - 1]?.to ?? 0
  }

  /** Passes over a sign or a word of the language. */
  #took(text: string): boolean {
    const { kind, text: found } = this.#token
    if (found !== text || (kind !== "keyword" && kind !== "sign")) return false
    this.#at++
    return true
  }

  #fail(...fault: Fault): Term {
    this.fault ??= fault
    this.#at = this.#tokens.length - 1
    return { kind: "all", terms: [], from: 0, to: 0 }
  }
}

const before = ({ kind, text }: Token): string => (kind === "end" ? " at the end" : ` before ${quote(text)}`)

/**
 * Whether a worker fits. A comparison of a label that it does not have is false, also one by `!=`: `region != eu` asks
 * for a worker that says it is elsewhere, `not region = eu` takes also one that does not say. Values are equal as numbers
 * where one was written in the rule and the label is one, also as text; else as texts, in which case counts. Less and more
 * are of numbers only, and false for a label that is none. `version` compares as `compareVersions` says; one that
 * is no version equals the same text, and is neither less nor more than anything.
 */
export const matches = ({ term }: LabelRule, labels: Labels): boolean => holds(term, labels)

/** A part of a rule that keeps a worker from fitting. */
export interface Miss {
  /** As it was written. */
  readonly text: string
  /** What it asks about. */
  readonly names: ReadonlyArray<string>
}

/** Of parts that are joined by `and`, those that keep a worker from fitting; else the whole. None when it fits. */
export const misses = ({ text, term }: LabelRule, labels: Labels): ReadonlyArray<Miss> =>
  (term.kind === "all" ? term.terms : [term])
    .filter((each) => !holds(each, labels))
    .map((each) => ({ text: text.slice(each.from, each.to), names: [...new Set(namesOf(each))] }))

const namesOf = (term: Term): ReadonlyArray<string> => {
  if (term.kind === "compare") return [term.name]
  return term.kind === "not" ? namesOf(term.term) : term.terms.flatMap(namesOf)
}

const holds = (term: Term, labels: Labels): boolean => {
  switch (term.kind) {
    case "all":
      return term.terms.every((each) => holds(each, labels))
    case "any":
      return term.terms.some((each) => holds(each, labels))
    case "not":
      return !holds(term.term, labels)
    case "compare": {
      const { name, operator, values } = term
      // Labels are a stranger's words: `constructor` is one only if the worker says so.
      if (!Object.hasOwn(labels, name)) return false
      const label = labels[name] as Labels[string]
      if (operator === "in") return values.some((value) => relates("=", label, value))
      return relates(operator, label, values[0] as Value)
    }
  }
}

const relates = (operator: Operator, label: Labels[string], value: Value): boolean => {
  const version = value.version === null ? null : readVersion(String(label))
  const order =
    version !== null && value.version !== null
      ? compareVersions(version, value.version)
      : orderOf(label, value)
  switch (operator) {
    case "=":
      return order === 0
    case "!=":
      return order !== 0
    case "<":
      return order < 0
    case "<=":
      return order <= 0
    case ">":
      return order > 0
    case ">=":
      return order >= 0
  }
}

/** NaN where they differ and have no order, for which all but `!=` is false. */
const orderOf = (label: Labels[string], { text, number }: Value): number => {
  const own = typeof label === "string" ? numberOf(label) : label
  if (number !== null && typeof own === "number") return own - number
  return String(label) === text ? 0 : Number.NaN
}

const numberOf = (text: string): number | null =>
  /^[+-]?[0-9]+(?:\.[0-9]+)?$/.test(text) ? Number(text) : null
