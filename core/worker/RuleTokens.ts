// The words and signs of a rule about workers. The lower half of `LabelRule.ts`: one pass over the text, no regular
// expression that could go back.

/** How two values are compared. */
export type Operator = "=" | "!=" | "<" | "<=" | ">" | ">="

/** A word or sign, and where it begins and ends. The last one is of kind `end`. */
export interface Token {
  readonly kind: "word" | "text" | "keyword" | "operator" | "sign" | "end"
  /** Of a text what stands between its quotes, of a keyword its lower case. */
  readonly text: string
  readonly from: number
  readonly to: number
}

/** The tokens of a text; or the place, the reason and the next step of what is wrong. */
export const readTokens = (
  text: string,
):
  | { readonly tokens: ReadonlyArray<Token> }
  | { readonly fault: readonly [position: number, reason: string, next: string] } => {
  const tokens: Array<Token> = []
  let at = 0
  while (at < text.length) {
    const from = at
    const sign = text[at] as string
    if (isBlank(sign)) {
      at++
      continue
    }
    if (sign === "'") return { fault: [at, "texts stand in double quotes", "Write it in double quotes."] }
    if (sign === '"') {
      const end = endOfText(text, at)
      if (end === -1) return { fault: [at, "a text has no end", 'Write the " at its end.'] }
      at = end + 1
      tokens.push({ kind: "text", text: unescaped(text.slice(from + 1, end)), from, to: at })
      continue
    }
    if (sign === "(" || sign === ")" || sign === ",") {
      at++
      tokens.push({ kind: "sign", text: sign, from, to: at })
      continue
    }
    if (isOperatorSign(sign)) {
      while (at < text.length && isOperatorSign(text[at] as string)) at++
      const found = text.slice(from, at)
      if (!operators.has(found)) {
        const next = found === "==" ? "Write = instead." : "Use one of =, !=, <, <=, >, >=, in."
        return { fault: [from, `"${found}" compares nothing`, next] }
      }
      tokens.push({ kind: "operator", text: found, from, to: at })
      continue
    }
    while (at < text.length && isWordSign(text[at] as string)) at++
    const word = text.slice(from, at)
    const lower = word.toLowerCase()
    const isKeyword = keywords.has(lower)
    tokens.push({ kind: isKeyword ? "keyword" : "word", text: isKeyword ? lower : word, from, to: at })
  }
  tokens.push({ kind: "end", text: "", from: text.length, to: text.length })
  return { tokens }
}

const keywords: ReadonlySet<string> = new Set(["and", "or", "not", "in"])
const operators: ReadonlySet<string> = new Set(["=", "!=", "<", "<=", ">", ">="])

const isBlank = (sign: string): boolean => sign <= " " || sign === "\u00a0"
const isOperatorSign = (sign: string): boolean => sign === "=" || sign === "!" || sign === "<" || sign === ">"
const isWordSign = (sign: string): boolean =>
  !isBlank(sign) &&
  !isOperatorSign(sign) &&
  sign !== "(" &&
  sign !== ")" &&
  sign !== "," &&
  sign !== '"' &&
  sign !== "'"

/** Where the quote stands that ends the text that begins at `from`; -1: nowhere. */
const endOfText = (text: string, from: number): number => {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === "\\") at++
    else if (text[at] === '"') return at
  }
  return -1
}

const unescaped = (text: string): string => text.replace(/\\(["\\])/g, "$1")
