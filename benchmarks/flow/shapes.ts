// The flows that are measured: `size` steps whose functions do nothing, in one of three shapes.
import { type Flow, flow, type Step } from "../../apps/sdk/mod.ts"

/** In which ways the steps need one another. */
export const shapeNames = ["chain", "layers", "mesh", "fan"] as const

/**
 * `chain`: each step needs the one before it. `layers` and `mesh` are layers of 100, where a step needs three of the
 * layer before, or all of them. `fan`: all need the first, and the last needs all.
 */
export type ShapeName = (typeof shapeNames)[number]

/** Steps of a layer. */
export const width = 100

/** A flow of the shape, whose output is that of its last step; `onStep` is what each step does. */
export const shaped = (shape: ShapeName, size: number, onStep: () => void): Flow<void, unknown> => {
  const name: string = `${shape}-${size}`
  return flow(name, {}, (f) => {
    const steps: Array<Step<unknown>> = []
    for (let place = 0; place < size; place++) {
      const needs = Object.fromEntries(needsOf(shape, size, place).map((need) => [`s${need}`, steps[need]!]))
      steps.push(f.step(`s${place}`, { needs, run: onStep }))
    }
    return steps.at(-1)
  })
}

const needsOf = (shape: ShapeName, size: number, place: number): ReadonlyArray<number> => {
  if (shape === "chain") return place === 0 ? [] : [place - 1]
  if (shape === "fan") {
    if (place === 0) return []
    return place < size - 1 ? [0] : Array.from({ length: size - 1 }, (_, each) => each)
  }
  if (place < width) return []
  const before = place - (place % width) - width
  if (shape === "mesh") return Array.from({ length: width }, (_, column) => before + column)
  return [0, 1, 2].map((shift) => before + ((place + shift) % width))
}

/** How many needs the steps of the shape have together. */
export const edgesOf = (shape: ShapeName, size: number): number => {
  let count = 0
  for (let place = 0; place < size; place++) count += needsOf(shape, size, place).length
  return count
}
