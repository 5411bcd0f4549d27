/** Numbers of a measurement, as they are told. */
export const rounded = (value: number, digits = 2): number => Number(value.toFixed(digits));

export const mib = (bytes: number): number => Math.round(bytes / 2 ** 20);

/** NaN of nothing. */
export const quantile = (values: readonly number[], q: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))] ?? Number.NaN;

export const median = (values: readonly number[]): number => quantile(values, 0.5);
