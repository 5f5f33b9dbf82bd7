import { Table, UnstyledButton, type MantineBreakpoint } from '@mantine/core';
import { flexRender, type Cell, type Header, type RowData } from '@tanstack/react-table';
import classes from './data-table.module.css';

declare module '@tanstack/react-table' {
  // oxlint-disable-next-line no-unused-vars -- the names are the library's
  interface ColumnMeta<TData extends RowData, TValue> {
    /** Its cells name their rows. */
    readonly names?: boolean;
    readonly numeric?: boolean;
    readonly width?: string;
    /** On narrower screens the column is not there: another one tells the same. */
    readonly visibleFrom?: MantineBreakpoint;
    /** What its cells say needs no header beside it, where rows are blocks. */
    readonly speaksForItself?: boolean;
  }
}

const SORTED = { asc: ['ascending', ' ▲'], desc: ['descending', ' ▼'] } as const;

export function HeaderCell<Row>({ header }: { header: Header<Row, unknown> }) {
  const { column } = header;
  const { numeric, width, visibleFrom } = column.columnDef.meta ?? {};
  const sorted = column.getIsSorted();
  const name = flexRender(column.columnDef.header, header.getContext());
  return (
    <Table.Th
      role="columnheader"
      scope="col"
      w={width}
      visibleFrom={visibleFrom}
      className={numeric ? classes.numeric : undefined}
      aria-sort={sorted ? SORTED[sorted][0] : undefined}
    >
      {column.getCanSort() ? (
        <UnstyledButton className={classes.sort} onClick={column.getToggleSortingHandler()}>
          {name}
          {sorted && <span aria-hidden>{SORTED[sorted][1]}</span>}
        </UnstyledButton>
      ) : (
        name
      )}
    </Table.Th>
  );
}

export function BodyCell<Row>({ cell }: { cell: Cell<Row, unknown> }) {
  const { columnDef } = cell.column;
  const { names, numeric, visibleFrom, speaksForItself } = columnDef.meta ?? {};
  const content = flexRender(columnDef.cell, cell.getContext());
  if (names) {
    return (
      <Table.Th role="rowheader" scope="row" visibleFrom={visibleFrom} className={classes.names}>
        {content}
      </Table.Th>
    );
  }
  const isLabelled = typeof columnDef.header === 'string' && columnDef.header !== '' && !speaksForItself;
  return (
    <Table.Td
      role="cell"
      visibleFrom={visibleFrom}
      data-label={isLabelled ? columnDef.header : undefined}
      className={numeric ? classes.numeric : undefined}
    >
      <div className={classes.content}>{content}</div>
    </Table.Td>
  );
}
