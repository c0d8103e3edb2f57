// Which addresses are public, which networks and origins a config may name, and what is refused.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { isAllowedAddress, parseNetwork } from "../../../adapters/executor-http/Addresses.ts"
import { isListed, parseOrigins } from "../../../adapters/executor-http/Origins.ts"

const networks = (...texts: ReadonlyArray<string>) =>
  texts.map((text) => Result.getOrThrow(parseNetwork("network", text)))

describe("addresses", () => {
  test.each([
    "8.8.8.8",
    "1.1.1.1",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.1",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:80b::200e",
    "64:ff9b::808:808",
    "::ffff:8.8.8.8",
  ])("%s is public", (address) => {
    expect(isAllowedAddress(address, [])).toBe(true)
  })

  test.each([
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.168.1.1",
    "198.18.0.1",
    "203.0.113.7",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:10.0.0.1",
    "::ffff:7f00:1",
    "::7f00:1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "localhost",
    "",
    "2130706433",
    "0x7f.1",
    "127.1",
    "010.0.0.1",
  ])("%s is not", (address) => {
    expect(isAllowedAddress(address, [])).toBe(false)
  })

  test("a network that is named may be connected to, and nothing beside it", () => {
    const named = networks("10.1.0.0/16", "fd00::/8", "::1", "127.0.0.1/32")
    const allowed = ["10.1.255.3", "fd12::9", "::1", "127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.1.0.0"]
    const others = ["10.2.0.0", "10.0.255.255", "fc00::1", "::2", "127.0.0.2", "169.254.169.254"]
    expect(allowed.filter((address) => !isAllowedAddress(address, named))).toEqual([])
    expect(others.filter((address) => isAllowedAddress(address, named))).toEqual([])
  })

  test.each([
    ["10.0.0.0/33", "length"],
    ["10.0.0.0/-1", "length"],
    ["10.0.0.0/", "length"],
    ["10.0.0.0/8/8", "network"],
    ["10.1.0.0/8", "behind"],
    ["fd00::1/64", "behind"],
    ["fd00::/129", "length"],
    ["example.com", "network"],
    ["fe80::1%eth0", "network"],
    ["", "network"],
    [5, "network"],
  ])("network %j is refused", (text, reason) => {
    const refused = Result.getOrThrow(Result.flip(parseNetwork("networks[3]", text)))
    expect(refused.field).toBe("networks[3]")
    expect(refused.reason).toContain(reason)
  })
})

describe("origins", () => {
  const listed = (url: string, ...origins: ReadonlyArray<string>): boolean =>
    isListed(new URL(url), Result.getOrThrow(parseOrigins("origins", origins)))

  test.each([
    ["https://api.example.com/a?b", "https://api.example.com"],
    ["https://API.example.com:443/", "https://api.example.com"],
    ["https://api.example.com:8443/", "https://api.example.com:8443"],
    ["https://a.b.example.com/", "https://*.example.com"],
    ["https://any.where/", "https://*"],
    ["http://any.where:8080/", "http://*:8080"],
    ["http://127.0.0.1:80/", "http://127.0.0.1"],
    ["http://[::1]:8080/", "http://[::1]:8080"],
    ["http://2130706433/", "http://127.0.0.1"],
    ["https://xn--mller-kva.example/", "https://müller.example"],
  ])("%s is of %s", (url, origin) => {
    expect(listed(url, "https://other.example", origin)).toBe(true)
  })

  test.each([
    ["http://api.example.com/", "https://api.example.com"],
    ["https://api.example.com:8443/", "https://api.example.com"],
    ["https://example.com/", "https://*.example.com"],
    ["https://evilexample.com/", "https://*.example.com"],
    ["https://api.example.com.evil.com/", "https://api.example.com"],
    ["https://api.example.com.evil.com/", "https://*.example.com"],
    ["https://api.example.com./", "https://api.example.com"],
    ["https://any.where:444/", "https://*"],
    ["http://any.where/", "https://*"],
    ["https://evil.com\\@api.example.com/", "https://api.example.com"],
    ["https://api.example.com@evil.com/", "https://api.example.com"],
  ])("%s is not of %s", (url, origin) => {
    expect(listed(url, origin)).toBe(false)
  })

  test.each([
    "api.example.com",
    "https://",
    "https://api.example.com/path",
    "https://api.example.com/",
    "https://api.example.com?x",
    "https://api.example.com#x",
    "https://api.*.com",
    "https://api*.example.com",
    "https://*example.com",
    "https://*.",
    "https://*.0.0.1",
    "ftp://example.com",
    "file:///etc/passwd",
    "*",
    "",
    5,
  ])("%j is no origin", (text) => {
    const refused = Result.getOrThrow(Result.flip(parseOrigins("origins", ["https://a.example", text])))
    expect(refused.field).toBe("origins[1]")
  })

  test("a password in one is not quoted", () => {
    const refused = Result.getOrThrow(Result.flip(parseOrigins("origins", ["https://me:hush@a.example"])))
    expect(refused.message).not.toContain("hush")
  })
})
