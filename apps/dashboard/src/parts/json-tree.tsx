import { Button, Text, UnstyledButton } from '@mantine/core';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { useState } from 'react';
import { LongText } from './long-text';
import { count, counted } from './numbers';
import './json-tree.css';

/** Entries that are shown of a list or an object at first, and at each press for more. */
const SHOWN = 50;

interface JsonTreeProps {
  readonly value: unknown;
  /** What the value is: its name for whoever hears the page. */
  readonly label: string;
  /** How deep it is open at first. */
  readonly open?: number;
}

/** A value as JSON has it, to be opened level by level. */
export function JsonTree({ value, label, open = 1 }: JsonTreeProps) {
  return (
    <div className="json-tree" role="group" aria-label={label}>
      <Value value={value} open={open} name={null} />
    </div>
  );
}

interface ValueProps {
  readonly value: unknown;
  readonly open: number;
  readonly name: string | null;
}

function Value({ value, open, name }: ValueProps) {
  if (typeof value === 'object' && value !== null) return <Nested value={value} open={open} name={name} />;
  return (
    <>
      <Name name={name} />
      {typeof value === 'string' ? (
        <LongText inherit className="json-string">{`"${value}"`}</LongText>
      ) : (
        <span className="json-other">{String(value)}</span>
      )}
    </>
  );
}

function Name({ name }: { name: string | null }) {
  return name !== null && <span className="json-name">{name}: </span>;
}

function Nested({ value, open, name }: ValueProps & { readonly value: object }) {
  const [isOpen, setOpen] = useState(open > 0);
  const [most, setMost] = useState(SHOWN);
  const isList = Array.isArray(value);
  const names = isList ? value.map((_, place) => String(place)) : Object.keys(value);
  if (names.length === 0) {
    return (
      <>
        <Name name={name} />
        {isList ? '[ ]' : '{ }'}
      </>
    );
  }
  const size = isList ? `[ ${counted(names.length, 'entry', 'entries')} ]` : `{ ${counted(names.length, 'field')} }`;
  const left = names.length - most;
  return (
    <>
      <UnstyledButton className="json-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? <IconChevronDown size={14} aria-hidden /> : <IconChevronRight size={14} aria-hidden />}
        <Name name={name} />
        <Text span inherit c="dimmed">
          {size}
        </Text>
      </UnstyledButton>
      {isOpen && (
        <ul>
          {names.slice(0, most).map((one) => (
            <li key={one}>
              <Value value={(value as Record<string, unknown>)[one]} open={open - 1} name={one} />
            </li>
          ))}
          {left > 0 && (
            <li>
              <Button variant="subtle" size="compact-xs" onClick={() => setMost(most + 10 * SHOWN)}>
                Show {count(Math.min(left, 10 * SHOWN))} more of {count(names.length)}
              </Button>
            </li>
          )}
        </ul>
      )}
    </>
  );
}
