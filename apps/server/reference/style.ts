// How the reference page looks: one sheet, served beside it, since the page's policy takes nothing that is inline.

/** The style sheet. */
export const style = `:root {
  color-scheme: light dark;
  --page: light-dark(#f6f7f9, #0c0f13);
  --card: light-dark(#fff, #12161c);
  --line: light-dark(#dfe3e8, #262d37);
  --ink: light-dark(#14181d, #e8ebef);
  --soft: light-dark(#4c5561, #a5aeba);
  --mark: light-dark(#1439bb, #8fa2ff);
}
* { box-sizing: border-box }
html { scroll-padding-top: 1rem }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
a { color: var(--mark) }
code, pre { font: 0.875em/1.5 ui-monospace, monospace }
pre { margin: 0.5rem 0; padding: 0.75rem 1rem; overflow-x: auto; background: var(--page); border: 1px solid var(--line); border-radius: 6px }
.frame { display: grid; grid-template-columns: 17rem minmax(0, 1fr); max-width: 80rem; margin: 0 auto }
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding: 1.5rem 1rem; font-size: 0.9rem }
nav h2 { margin: 1.25rem 0 0.25rem; font-size: 0.9rem; color: var(--soft) }
nav ul { margin: 0; padding: 0; list-style: none }
nav a { display: block; padding: 0.1rem 0; color: inherit; text-decoration: none }
nav a:hover, nav a:focus { text-decoration: underline }
main { padding: 1.5rem 1.5rem 6rem }
h1 { margin: 0 0 0.5rem; font-size: 1.75rem }
h2 { margin: 2.5rem 0 1rem; font-size: 1.35rem }
h3 { margin: 0; font-size: 1.05rem }
h4 { margin: 1.25rem 0 0.25rem; font-size: 0.9rem; color: var(--soft) }
p { margin: 0.5rem 0; max-width: 46rem }
article { margin: 0 0 1.25rem; padding: 1.25rem 1.5rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px }
article:target { border-color: var(--mark) }
.address { display: flex; flex-wrap: wrap; gap: 0.25rem 0.75rem; align-items: baseline; margin-top: 0.4rem; overflow-wrap: anywhere }
.method { font: 600 0.8rem ui-monospace, monospace; text-transform: uppercase }
.role { margin-left: auto; padding: 0 0.6rem; border: 1px solid var(--line); border-radius: 1rem; font-size: 0.85rem; color: var(--soft) }
table { width: 100%; border-collapse: collapse; font-size: 0.9rem }
th, td { padding: 0.35rem 0.75rem 0.35rem 0; border-top: 1px solid var(--line); text-align: left; vertical-align: top; overflow-wrap: break-word }
th { width: 1%; min-width: 4rem; font-weight: 400; white-space: nowrap }
td p { margin: 0 }
.soft { color: var(--soft) }
summary { cursor: pointer; color: var(--mark) }
@media (max-width: 52rem) {
  .frame { display: block }
  nav { position: static; max-height: none; padding-bottom: 0 }
  main { padding: 1rem }
}
`
