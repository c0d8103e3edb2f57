// HTML as text: whatever is put in is escaped, so that no description can become markup.

/** A piece that is HTML already. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Piece = Html | string | number | ReadonlyArray<Html>

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
}

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => escapes[sign] ?? sign)

const textOf = (piece: Piece): string =>
  piece instanceof Html
    ? piece.text
    : Array.isArray(piece)
      ? piece.map(({ text }: Html) => text).join("")
      : escaped(typeof piece === "string" ? piece : `${piece as number}`)

/** HTML of a template. */
export const html = (texts: TemplateStringsArray, ...pieces: ReadonlyArray<Piece>): Html =>
  new Html(
    texts.map((text, place) => text + (place < pieces.length ? textOf(pieces[place] ?? "") : "")).join(""),
  )

/** Paragraphs and code of a description in CommonMark; all else stays as it is written. */
export const prose = (text: string): ReadonlyArray<Html> =>
  text.split(/\n\s*\n/).map((part) => html`<p>${inline(part)}</p>`)

/** One line of it. */
export const inline = (text: string): ReadonlyArray<Html> =>
  text
    .split(/(`[^`]+`)/)
    .map((part) =>
      part.length > 2 && part.startsWith("`") ? html`<code>${part.slice(1, -1)}</code>` : html`${part}`,
    )
