// Text of others, made harmless for a terminal.

// Controls (with those that open escape sequences) and marks that turn the direction of what follows.
const steering = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Text without control characters, so that data cannot steer the terminal; at most `max` characters. */
export const plain = (text: string, max = 200): string => {
  const clean = text.replace(steering, " ").replace(/ {2,}/g, " ")
  return clean.length > max ? `${clean.slice(0, max - 1)}…` : clean
}

/** The same for a text of several lines, which keeps its lines and its length. */
export const plainLines = (text: string): string =>
  text
    .split("\n")
    .map((each) => each.replace(steering, " "))
    .join("\n")
