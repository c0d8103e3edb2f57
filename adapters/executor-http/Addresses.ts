// Which addresses may be connected to: public ones, and those of networks that the config names. Whatever is set apart
// for another use (RFC 6890 and the registries of IANA that it began) is no public address, nor is one that stands for
// such an IPv4 address in IPv6.
import { isIP } from "node:net"
import * as Result from "effect/Result"
import { InvalidInput } from "../../core/domain/Errors.ts"
import { quote } from "../../core/domain/TimeSpan.ts"

/** A range of addresses. */
export interface Network {
  readonly family: 4 | 6
  readonly first: bigint
  readonly bits: number
}

/** The range of `10.0.0.0/8`, `fd00::/8`, or a single address; refused, naming `field`: anything else. */
export const parseNetwork = (field: string, text: unknown): Result.Result<Network, InvalidInput> => {
  const refuse = (reason: string) =>
    Result.fail(
      new InvalidInput({
        field,
        reason: `${quote(text)} ${reason}`,
        next: 'Give an address, or a range of them such as "10.1.0.0/16" or "::1".',
      }),
    )
  if (typeof text !== "string") return refuse("is no network")
  const [address = "", length, ...rest] = text.split("/")
  const parsed = parseAddress(address)
  if (parsed === undefined || rest.length > 0) return refuse("is no network")
  const width = widths[parsed.family]
  const bits = length === undefined ? width : /^\d{1,3}$/.test(length) ? Number(length) : -1
  if (bits < 0 || bits > width) return refuse(`has a length that is none of 0 to ${width}`)
  if (masked(parsed, bits) !== parsed.value) return refuse("has bits behind its length")
  return Result.succeed({ family: parsed.family, first: parsed.value, bits })
}

/** Whether this address (text, without brackets) may be connected to. */
export const isAllowedAddress = (text: string, networks: ReadonlyArray<Network>): boolean => {
  const address = parseAddress(text)
  if (address === undefined) return false
  if (networks.some((network) => isWithin(address, network))) return true
  // NAT64 is how a host without IPv4 reaches public IPv4 addresses.
  return isPublic(isWithin(address, nat64) ? { family: 4, value: address.value & 0xffffffffn } : address)
}

interface Address {
  readonly family: 4 | 6
  readonly value: bigint
}

const widths = { 4: 32, 6: 128 } as const

/** Mapped addresses (`::ffff:10.0.0.1`) are the IPv4 addresses that they are. */
const parseAddress = (text: string): Address | undefined => {
  // A zone (`fe80::1%eth0`) is one of this machine's networks, and no part of an address.
  if (text.includes("%")) return undefined
  const family = isIP(text)
  if (family === 4) return { family, value: parseFour(text) }
  if (family !== 6) return undefined
  const value = parseSix(text)
  return value >> 32n === 0xffffn ? { family: 4, value: value & 0xffffffffn } : { family, value }
}

const parseFour = (text: string): bigint =>
  text.split(".").reduce((sum, part) => (sum << 8n) | BigInt(Number(part)), 0n)

const parseSix = (text: string): bigint => {
  const four = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text)
  const last = parseFour(four?.[2] ?? "0.0.0.0")
  const hex =
    four === null ? text : `${four[1]}${(last >> 16n).toString(16)}:${(last & 0xffffn).toString(16)}`
  const [head = "", tail] = hex.split("::")
  const groups = (part: string): Array<string> => (part === "" ? [] : part.split(":"))
  const before = groups(head)
  const after = tail === undefined ? [] : groups(tail)
  const between = Array.from({ length: 8 - before.length - after.length }, () => "0")
  return [...before, ...between, ...after].reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n)
}

const masked = ({ family, value }: Address, bits: number): bigint => {
  const rest = BigInt(widths[family] - bits)
  return (value >> rest) << rest
}

const isWithin = (address: Address, { family, first, bits }: Network): boolean =>
  address.family === family && masked(address, bits) === first

const networksOf = (...texts: ReadonlyArray<string>): ReadonlyArray<Network> =>
  texts.map((text) => Result.getOrThrow(parseNetwork("network", text)))

const nat64 = Result.getOrThrow(parseNetwork("network", "64:ff9b::/96"))

const isPublic = (address: Address): boolean =>
  address.family === 4
    ? !special4.some((network) => isWithin(address, network))
    : global6.some((network) => isWithin(address, network)) &&
      !special6.some((network) => isWithin(address, network))

const special4 = networksOf(
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
)
// What is global unicast, and in it: the block of protocols with Teredo, documentation, and 6to4, which stands for IPv4.
const global6 = networksOf("2000::/3")
const special6 = networksOf("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
