export interface Measured { [key: string]: unknown }
