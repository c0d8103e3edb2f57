// Every way in which a request is refused or fails, by its code: the status, and a title that is the same each time. What
// happened, and what to do next, is said in each answer's `detail`.

/** By code. */
export const problemCodes = {
  badJson: [400, "The body is no JSON"],
  badCursor: [400, "The cursor is not one of this list"],
  badHeader: [400, "A header is not acceptable"],
  unauthenticated: [401, "A key is needed"],
  foreignOrigin: [403, "Web pages of this origin may not use the API"],
  notLocal: [403, "The API answers on the server's own machine only"],
  forbidden: [403, "This key may not do that"],
  noRoute: [404, "There is nothing at this address"],
  notFound: [404, "There is nothing of this id"],
  methodNotAllowed: [405, "This address takes other methods"],
  idTaken: [409, "Another one has this id"],
  conflict: [409, "It is in a state in which this cannot be done"],
  inProgress: [409, "A request with this Idempotency-Key is still being answered"],
  changed: [412, "It was changed by somebody else"],
  tooLarge: [413, "The body is too large"],
  notJson: [415, "The body is not said to be JSON"],
  foreignHost: [421, "This server is not known by this name"],
  invalidRequest: [422, "The address or the query is not what this route takes"],
  invalidBody: [422, "The body is not what this route takes"],
  invalidInput: [422, "A value is not acceptable"],
  invalidPayload: [422, "The input is not one that this job takes"],
  unknownJob: [422, "No job of this name is defined"],
  keyReused: [422, "This Idempotency-Key was used for another request"],
  upgradeRequired: [426, "This is where workers connect"],
  tooMany: [429, "Too many requests"],
  internal: [500, "The server failed"],
  storeUnavailable: [503, "The store does not answer"],
  notServing: [503, "The server starts or stops"],
  overloaded: [503, "Too many requests wait to be stored"],
} as const satisfies Readonly<Record<string, readonly [status: number, title: string]>>

/** A code of a problem, for programs; it never changes its meaning. */
export type ProblemCode = keyof typeof problemCodes

/** How every route may refuse. */
export const commonProblems = [
  "unauthenticated",
  "foreignOrigin",
  "notLocal",
  "forbidden",
  "foreignHost",
  "invalidRequest",
  "tooMany",
  "internal",
  "storeUnavailable",
  "notServing",
] as const satisfies ReadonlyArray<ProblemCode>

/** How every route with a body may refuse, too. */
export const bodyProblems = [
  "badJson",
  "tooLarge",
  "notJson",
  "invalidBody",
] as const satisfies ReadonlyArray<ProblemCode>
