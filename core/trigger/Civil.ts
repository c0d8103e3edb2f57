// Dates as numbers: days since 1970 began, and back, on the proleptic Gregorian calendar (R16).
// Lowest step of `trigger/`: `WallTimes.ts` walks months with it. Pure integer maths that allocates nothing,
// for the years 0 to 2300.

/** First year that a year field can name (R9). */
export const yearMin = 1970
/** Last year that a schedule can name or reach (R9, R13). */
export const yearMax = 2199

export const daySeconds = 86_400

/** 28 to 31; `month` counts from 1. */
export const monthLength = (year: number, month: number): number => {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
}

/** Weekday of a day number, Sunday is 0: day 0 was a Thursday. The sum is a multiple of 7 that keeps it positive. */
export const weekdayOf = (days: number): number => (days + 4 + 719_467) % 7

// Both after Howard Hinnant, "chrono-compatible low-level date algorithms": years start in March, so that the
// leap day is the last; 146097 days are 400 years, 719468 days lie between 0000-03-01 and 1970-01-01.
// `| 0` cuts like `Math.floor`, as nothing here is negative but the first two months of year 0.

/** Day number of a date. */
export const daysFromCivil = (year: number, month: number, day: number): number => {
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = (((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) | 0) + day - 1
  const leapDays = ((yearOfEra / 4) | 0) - ((yearOfEra / 100) | 0)
  return era * 146_097 + yearOfEra * 365 + leapDays + dayOfYear - 719_468
}

/**
 * Date of a day number, packed so that nothing is allocated: the year from bit 9 on, the month in bits 5 to 8,
 * the day in bits 0 to 4.
 */
export const civilFromDays = (days: number): number => {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const leapDays = ((dayOfEra / 1460) | 0) - ((dayOfEra / 36_524) | 0) + ((dayOfEra / 146_096) | 0)
  const yearOfEra = ((dayOfEra - leapDays) / 365) | 0
  const dayOfYear = dayOfEra - (365 * yearOfEra + ((yearOfEra / 4) | 0) - ((yearOfEra / 100) | 0))
  const shiftedMonth = ((5 * dayOfYear + 2) / 153) | 0
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  const day = dayOfYear - (((153 * shiftedMonth + 2) / 5) | 0) + 1
  return ((yearOfEra + era * 400 + (month <= 2 ? 1 : 0)) << 9) | (month << 5) | day
}
