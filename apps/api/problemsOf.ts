// How a route may refuse, all of it: what it says itself, what every route may, and what its body and its headers bring.
import { type Endpoint, isIdempotent, isUnsafe } from "./Endpoint.ts"
import { bodyProblems, commonProblems, problemCodes, type ProblemCode } from "./problemCodes.ts"

const ofKeys: ReadonlyArray<ProblemCode> = ["unauthenticated", "forbidden"]
// A body is received before it is known that there should be none.
const ofAnyBody: ReadonlyArray<ProblemCode> = ["badJson", "tooLarge"]
const ofIdempotency: ReadonlyArray<ProblemCode> = ["badHeader", "inProgress", "keyReused"]
const ofConditions: ReadonlyArray<ProblemCode> = ["badHeader", "changed"]

/** The codes, in the order of their table. */
export const problemsOf = (endpoint: Endpoint): ReadonlyArray<ProblemCode> => {
  const said = new Set<ProblemCode>([
    ...endpoint.problems,
    ...commonProblems.filter((code) => endpoint.role !== "public" || !ofKeys.includes(code)),
    ...(endpoint.body === undefined ? [] : bodyProblems),
    ...(isUnsafe(endpoint) ? ofAnyBody : []),
    ...(isIdempotent(endpoint) ? ofIdempotency : []),
    ...(endpoint.conditional === true ? ofConditions : []),
  ])
  return (Object.keys(problemCodes) as ReadonlyArray<ProblemCode>).filter((code) => said.has(code))
}

/** The same by status, the lowest first. */
export const problemsByStatus = (endpoint: Endpoint): ReadonlyMap<number, ReadonlyArray<ProblemCode>> => {
  const codes = problemsOf(endpoint)
  const statuses = [...new Set(codes.map((code) => problemCodes[code][0]))].sort((a, b) => a - b)
  return new Map(
    statuses.map((status) => [status, codes.filter((code) => problemCodes[code][0] === status)] as const),
  )
}
