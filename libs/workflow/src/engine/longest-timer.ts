/** A longer timer of Node's fires at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
