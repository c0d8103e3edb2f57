// The reference page: the OpenAPI document as people read it, one page without a script. Made once, at the first request.
import type { Json } from "../../api/jsonSchemas.ts"
import { curlOf } from "./curl.ts"
import { type Html, html, inline, prose } from "./html.ts"
import { type Operation, operationsOf, type Schemas } from "./operations.ts"
import { fieldsOf, typeOf } from "./types.ts"

/** The page of a document. */
export const referencePage = (document: Json): string => {
  const { title, description } = document["info"] as { readonly title: string; readonly description: string }
  const operations = operationsOf(document)
  const schemas = (document["components"] as { readonly schemas: Schemas }).schemas
  const tags = [...new Set(operations.map(({ tag }) => tag))]
  const of = (tag: string): ReadonlyArray<Operation> => operations.filter((each) => each.tag === tag)
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        <link rel="stylesheet" href="/docs/style.css" />
      </head>
      <body>
        <div class="frame">
          <nav aria-label="Routes">
            <a href="#top"><strong>${title}</strong></a>
            ${tags.map(
              (tag) =>
                html`<h2>${tag}</h2>
                  <ul>
                    ${of(tag).map(({ id, summary }) => html`<li><a href="#${id}">${summary}</a></li>`)}
                  </ul>`,
            )}
            <h2>schemas</h2>
            <ul>
              ${Object.keys(schemas).map((name) => html`<li><a href="#schema-${name}">${name}</a></li>`)}
            </ul>
          </nav>
          <main id="top">
            <h1>${title}</h1>
            ${prose(description)}
            <p>
              For programs: <a href="/openapi.json">/openapi.json</a>, OpenAPI 3.1. The examples ask a server
              on this machine; elsewhere a key is needed, in <code>UHRWERK_KEY</code>. Every answer has
              <code>X-Request-Id</code>: yours, if the request had one of 1 to 128 letters, digits,
              <code>-</code>, <code>_</code> and <code>=</code>. <code>RateLimit</code> says how many more
              requests there may be.
            </p>
            ${tags.map(
              (tag) =>
                html`<section>
                  <h2>${tag}</h2>
                  ${of(tag).map((each) => operationHtml(each, schemas))}
                </section>`,
            )}
            <section>
              <h2>Schemas</h2>
              ${Object.entries(schemas).map(([name, schema]) => schemaHtml(name, schema))}
            </section>
          </main>
        </div>
      </body>
    </html> `.text
}

const operationHtml = (operation: Operation, schemas: Schemas): Html =>
  html`<article id="${operation.id}">
    <h3>${operation.summary}</h3>
    <div class="address">
      <span class="method">${operation.method}</span> <code>${operation.path}</code>
      <span class="role">${operation.role}</span>
    </div>
    ${prose(operation.description)} ${parametersHtml(operation)} ${bodyHtml(operation)}
    <h4>Answers</h4>
    <table>
      ${operation.successes.map(
        ({ status, description, headers, types }) =>
          html`<tr>
            <th>${status}</th>
            <td>
              ${inline(description)}${headers.map(([name, about]) => html`<p class="soft"><code>${name}</code>: ${inline(about)}</p>`)}${types.map(
                ([type, schema]) =>
                  html`<p class="soft">${type}: ${typeOf(schema)}</p>
                    ${detailsHtml(schema)}`,
              )}
            </td>
          </tr>`,
      )}
    </table>
    <h4>Problems</h4>
    <table>
      ${operation.problems.map(
        ({ status, description }) =>
          html`<tr>
            <th>${status}</th>
            <td>${inline(description)}</td>
          </tr>`,
      )}
    </table>
    <h4>Example</h4>
    <pre><code>${curlOf(operation, schemas)}</code></pre>
  </article>`

const parametersHtml = ({ parameters }: Operation): Html =>
  parameters.length === 0
    ? html``
    : html`<h4>Parameters</h4>
        <table>
          ${parameters.map(
            ({ name, in: place, required = false, description = "", schema }) =>
              html`<tr>
                <th><code>${name}</code></th>
                <td class="soft">${place}${required ? ", required" : ""}</td>
                <td>${typeOf(schema)}</td>
                <td>${inline(description)}</td>
              </tr>`,
          )}
        </table>`

const bodyHtml = ({ body }: Operation): Html =>
  body === undefined
    ? html``
    : html`<h4>Body${body.required ? "" : ", optional"}</h4>
        <p class="soft">application/json: ${typeOf(body.schema)}</p>
        ${fieldsOf(body.schema)}`

const detailsHtml = (schema: Json): Html => {
  const fields = fieldsOf(schema)
  return fields.text === ""
    ? fields
    : html`<details>
        <summary>Fields</summary>
        ${fields}
      </details>`
}

const schemaHtml = (name: string, schema: Json): Html =>
  html`<article id="schema-${name}">
    <h3>${name}</h3>
    ${prose((schema["description"] as string | undefined) ?? "")} ${fieldsOf(schema)}
  </article>`
