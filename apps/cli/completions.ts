// `uhrwerk completions SHELL`: a script that completes commands and their flags, made of the same table as the help.
import { exitCodes, UsageError } from "./exits.ts"
import { flagTypes } from "./flags.ts"
import { commandTable } from "./help.gen.ts"
import type { Command } from "./open.ts"

/** The command. */
export const completions: Command = {
  usage: "completions bash|zsh|fish",
  about:
    "a script for your shell, such as: uhrwerk completions bash > ~/.local/share/bash-completion/completions/uhrwerk",
  run: (args) => {
    const [shell = "", ...more] = args
    const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
    if (script === undefined || more.length > 0)
      throw new UsageError("This command takes one shell: bash, zsh or fish")
    console.log(script().trimEnd())
    return Promise.resolve(exitCodes.ok)
  },
}

/** First words, each with the second words that may follow it. */
const wordsOf = (): ReadonlyMap<string, ReadonlyArray<string>> => {
  const words = new Map<string, Array<string>>()
  for (const [name] of commandTable) {
    const [first = "", second] = name.split(" ")
    const seconds = words.get(first) ?? []
    words.set(first, seconds)
    if (second !== undefined && !second.startsWith("-")) seconds.push(second)
  }
  return words
}

/** The flags of a command, by its words. */
const flagsOf = (): ReadonlyMap<string, ReadonlyArray<string>> => {
  const flags = new Map<string, Set<string>>()
  for (const [name, usage] of commandTable) {
    const words = name.replace(/ --.*$/, "")
    const all = flags.get(words) ?? new Set(["--help", "--storage", "--output"])
    for (const [, flag = ""] of usage.matchAll(/--([a-z][a-z-]*)/g)) all.add(`--${flag}`)
    flags.set(words, all)
  }
  return new Map([...flags].map(([words, all]) => [words, [...all]]))
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const bash = (): string => {
  const words = wordsOf()
  const flags = flagsOf()
  return `# Completion of uhrwerk for bash.
_uhrwerk() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" first="\${COMP_WORDS[1]}" second="\${COMP_WORDS[2]}"
  local words=""
  if [[ $cur == -* ]]; then
    case "$first $second" in
${[...flags]
  .filter(([name]) => name.includes(" "))
  .map(([name, all]) => `      ${quoted(name)}) words=${quoted(all.join(" "))} ;;`)
  .join("\n")}
      *)
        case "$first" in
${[...flags]
  .filter(([name]) => !name.includes(" "))
  .map(([name, all]) => `          ${quoted(name)}) words=${quoted(all.join(" "))} ;;`)
  .join("\n")}
        esac ;;
    esac
  elif [[ $COMP_CWORD -eq 1 ]]; then
    words=${quoted([...words.keys()].join(" "))}
  elif [[ $COMP_CWORD -eq 2 ]]; then
    case "$first" in
${[...words]
  .filter(([, seconds]) => seconds.length > 0)
  .map(([first, seconds]) => `      ${quoted(first)}) words=${quoted(seconds.join(" "))} ;;`)
  .join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ \${#COMPREPLY[@]} -eq 0 && $cur != -* ]] && COMPREPLY=($(compgen -f -- "$cur"))
}
complete -o filenames -F _uhrwerk uhrwerk
`
}

// zsh reads functions of bash.
const zsh = (): string => `#compdef uhrwerk\nautoload -U +X bashcompinit && bashcompinit\n${bash()}`

const fish = (): string => {
  const lines = ["# Completion of uhrwerk for fish.", "complete -c uhrwerk -f"]
  for (const [first, seconds] of wordsOf()) {
    lines.push(`complete -c uhrwerk -n __fish_use_subcommand -a ${quoted(first)}`)
    if (seconds.length > 0)
      lines.push(
        `complete -c uhrwerk -n ${quoted(`__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${seconds.join(" ")}`)} -a ${quoted(seconds.join(" "))}`,
      )
  }
  for (const [name, all] of flagsOf()) {
    const seen = name
      .split(" ")
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join("; and ")
    for (const flag of all) {
      const type = flagTypes[flag.slice(2) as keyof typeof flagTypes]?.type
      lines.push(
        `complete -c uhrwerk -n ${quoted(seen)} -l ${flag.slice(2)}${type === "string" ? " -r -F" : ""}`,
      )
    }
  }
  return `${lines.join("\n")}\n`
}

const scripts: Readonly<Record<string, () => string>> = { bash, zsh, fish }
