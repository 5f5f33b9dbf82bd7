import { Table, UnstyledButton } from '@mantine/core';
import {
  flexRender,
  getCoreRowModel,
  getSortedRowModel,
  useReactTable,
  type Cell,
  type ColumnDef,
  type Header,
  type RowData,
  type SortingState,
} from '@tanstack/react-table';
import { useState } from 'react';
import classes from './figures-table.module.css';
import { ScrollSideways } from './scroll-sideways';
import { useSteadyOrder } from './steady-order';

declare module '@tanstack/react-table' {
  // eslint-disable-next-line typescript/no-unused-vars -- the type that is added to has them
  interface ColumnMeta<TData extends RowData, TValue> {
    /** Its cells name their rows. */
    readonly names?: boolean;
    readonly numeric?: boolean;
  }
}

export type Columns<Row> = readonly ColumnDef<Row, any>[];

interface FiguresTableProps<Row> {
  /** What the table is of: for those who do not see what stands around it. */
  readonly caption: string;
  readonly columns: Columns<Row>;
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** Few short columns: they stay close to each other, and a table on a phone too. */
  readonly narrow?: boolean;
  /** Columns with an accessor can be sorted by. */
  readonly sortable?: boolean;
}

/**
 * A table. On a phone each row becomes a block with the headers beside its cells. While the pointer or the focus is in it, a refresh does not
 * change its order.
 */
export function FiguresTable<Row>({
  caption,
  columns,
  rows,
  idOf,
  narrow = false,
  sortable = false,
}: FiguresTableProps<Row>) {
  const [sorting, setSorting] = useState<SortingState>([]);
  const [pointed, setPointed] = useState(false);
  const [focused, setFocused] = useState(false);
  const table = useReactTable<Row>({
    data: rows as Row[],
    columns: columns as ColumnDef<Row, any>[],
    getRowId: idOf,
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
    enableSorting: sortable,
    state: { sorting },
    onSortingChange: setSorting,
  });
  const as = JSON.stringify(sorting);
  const shown = useSteadyOrder(table.getRowModel().rows, ({ id }) => id, pointed || focused, as);
  return (
    <ScrollSideways what={caption}>
      {/* Blocks are no table to some browsers unless it says that it is. */}
      <Table
        role="table"
        className={`${classes.table} ${narrow ? classes.narrow : classes.stacks}`}
        verticalSpacing="xs"
        onMouseEnter={() => setPointed(true)}
        onMouseLeave={() => setPointed(false)}
        onFocus={() => setFocused(true)}
        onBlur={() => setFocused(false)}
      >
        <caption className={classes.caption}>{caption}</caption>
        <Table.Thead role="rowgroup">
          {table.getHeaderGroups().map((group) => (
            <Table.Tr key={group.id} role="row">
              {group.headers.map((header) => (
                <HeaderCell key={header.id} header={header} />
              ))}
            </Table.Tr>
          ))}
        </Table.Thead>
        <Table.Tbody role="rowgroup">
          {shown.map((row) => (
            <Table.Tr key={row.id} role="row">
              {row.getVisibleCells().map((cell) => (
                <BodyCell key={cell.id} cell={cell} />
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollSideways>
  );
}

const SORTED = { asc: ['ascending', ' ▲'], desc: ['descending', ' ▼'] } as const;

function HeaderCell<Row>({ header }: { header: Header<Row, unknown> }) {
  const { column } = header;
  const sorted = column.getIsSorted();
  const name = flexRender(column.columnDef.header, header.getContext());
  return (
    <Table.Th
      role="columnheader"
      scope="col"
      className={column.columnDef.meta?.numeric ? classes.numeric : undefined}
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

function BodyCell<Row>({ cell }: { cell: Cell<Row, unknown> }) {
  const { columnDef } = cell.column;
  const content = flexRender(columnDef.cell, cell.getContext());
  if (columnDef.meta?.names) {
    return (
      <Table.Th role="rowheader" scope="row" className={classes.names}>
        {content}
      </Table.Th>
    );
  }
  return (
    <Table.Td
      role="cell"
      data-label={typeof columnDef.header === 'string' ? columnDef.header : undefined}
      className={columnDef.meta?.numeric ? classes.numeric : undefined}
    >
      <div className={classes.content}>{content}</div>
    </Table.Td>
  );
}
