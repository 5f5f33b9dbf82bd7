import { PayloadValidationError } from '../errors.js';

/** A parameter of a read that cannot be right. Nothing was read. */
export class InvalidQueryError extends PayloadValidationError {
  constructor(
    /** The parameter, as REST spells it. */
    readonly field: string,
    /** Says what it may be: `has to be …`. */
    problem: string,
  ) {
    super(`"${field}" ${problem}`);
  }
}
