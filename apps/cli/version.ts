// The version of the package, which a test compares with its manifest.

/** As in package.json. */
export const version = "0.1.0"
