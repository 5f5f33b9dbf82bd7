import { plainToInstance } from 'class-transformer';
import { validate, type ValidationError } from 'class-validator';
import { PayloadValidationError } from '../errors.js';

/**
 * Checks a value against a class-validator DTO.
 *
 * @throws {PayloadValidationError} naming each property that does not fit, never its value
 */
export async function validateDto(dto: new () => object, value: object, what: string): Promise<void> {
  const problems = await validate(plainToInstance(dto, value), { forbidUnknownValues: false });
  if (!problems.length) return;
  throw new PayloadValidationError(
    `The ${what} did not pass ${dto.name}: ${problems.flatMap((one) => lines(one)).join('; ')}.`,
  );
}

function lines({ property, constraints, children }: ValidationError, parent = ''): string[] {
  const path = parent ? `${parent}.${property}` : property;
  const own = Object.values(constraints ?? {}).map((message) => (parent ? `${parent}.${message}` : message));
  return [...own, ...(children ?? []).flatMap((child) => lines(child, path))];
}
