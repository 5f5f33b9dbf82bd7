import { PayloadValidationError } from '../errors.js';
import { assertKey, blankToNull, nameProblem } from './names.js';

describe('names and keys', () => {
  test('STA-26 finds nothing wrong with 255 characters, emoji counted as one', () => {
    expect(nameProblem('a'.repeat(255))).toBeNull();
    expect(nameProblem('👍'.repeat(255))).toBeNull();
    expect(nameProblem('Ordre №7 / ünïcode')).toBeNull();
  });

  test.each([
    ['', 'is blank'],
    [' \t\n', 'is blank'],
    ['a'.repeat(256), 'has 256 characters, more than the 255 allowed'],
    ['👍'.repeat(256), 'has 256 characters, more than the 255 allowed'],
    ['a\0b', 'has a NUL character, which PostgreSQL cannot store'],
    ['a\uD800', 'is not well-formed Unicode'],
  ])('STA-26 says of %j that it %s', (value, problem) => {
    expect(nameProblem(value)).toBe(problem);
  });

  test('STA-26 refuses a key with a typed error that names it', () => {
    expect(() => assertKey('7', 'subject id')).not.toThrow();
    expect(() => assertKey('x\0', 'subject id')).toThrow(PayloadValidationError);
    expect(() => assertKey('x\0', 'subject id')).toThrow(
      'The subject id has a NUL character, which PostgreSQL cannot store.',
    );
    expect(() => assertKey(7, 'idempotency key')).toThrow('The idempotency key must be a string, not number.');
    expect(() => assertKey(null, 'actor')).toThrow('The actor must be a string, not null.');
  });

  test.each([undefined, null, '', '   ', '\n\t'])('STA-22 takes %j as no key', (key) => {
    expect(blankToNull(key)).toBeNull();
  });

  test('STA-22 leaves any other key as it is', () => {
    expect(blankToNull(' checkout-7')).toBe(' checkout-7');
  });
});
