import { Table } from '@mantine/core';
import {
  getCoreRowModel,
  getSortedRowModel,
  useReactTable,
  type ColumnDef,
  type Row as TableRow,
  type SortingState,
} from '@tanstack/react-table';
import { memo, useState, type ReactNode } from 'react';
import { BodyCell, HeaderCell } from './data-table-cells';
import classes from './data-table.module.css';
import { useFirstThenAll } from './first-then-all';
import { ScrollSideways } from './scroll-sideways';
import { useSteadyOrder } from './steady-order';

export type Columns<Row> = readonly ColumnDef<Row, any>[];

interface DataTableProps<Row> {
  /** What the table is of: for those who do not see what stands around it. */
  readonly caption: string;
  readonly columns: Columns<Row>;
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** Few short columns: they stay close to each other, and a table on a phone too. */
  readonly narrow?: boolean;
  /** Columns with an accessor can be sorted by. */
  readonly sortable?: boolean;
  /** A refresh would reorder the rows. While the pointer or the focus is in the table, it only adds and takes away. */
  readonly holdsOrder?: boolean;
  /** What stands below a row, over its whole width. */
  readonly detail?: (row: Row) => ReactNode;
  /** What is shown is of before; what was asked for is being read. */
  readonly isBusy?: boolean;
}

/** A table. Its rows stay the same elements, with their focus, when they are read anew. On a phone each becomes a block with the headers beside its cells. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { caption, columns, rows, idOf, narrow = false, sortable = false, holdsOrder = false, detail, isBusy } = props;
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
  const isHeld = holdsOrder && (pointed || focused);
  const ordered = useSteadyOrder(table.getRowModel().rows, ({ id }) => id, isHeld, JSON.stringify(sorting));
  const shown = useFirstThenAll(ordered);
  return (
    <ScrollSideways what={caption}>
      {/* Blocks are no table to some browsers unless it says that it is. */}
      <Table
        role="table"
        className={`${classes.table} ${narrow ? classes.narrow : classes.stacks}`}
        verticalSpacing="xs"
        aria-busy={isBusy}
        style={isBusy ? { opacity: 0.6 } : undefined}
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
            <Rows key={row.id} row={row} columns={columns} detail={detail} />
          ))}
        </Table.Tbody>
      </Table>
    </ScrollSideways>
  );
}

interface RowsProps<Row> {
  readonly row: TableRow<Row>;
  readonly columns: Columns<Row>;
  readonly detail: ((row: Row) => ReactNode) | undefined;
}

/** The row, and what stands below it. Drawn again only when it has been read anew and is another. */
const Rows = memo(
  function Rows<Row>({ row, detail }: RowsProps<Row>) {
    const cells = row.getVisibleCells();
    const below = detail?.(row.original);
    const hasMore = below !== undefined && below !== null && below !== false;
    return (
      <>
        <Table.Tr role="row" data-row={row.id} data-goes-on={hasMore || undefined}>
          {cells.map((cell) => (
            <BodyCell key={cell.id} cell={cell} />
          ))}
        </Table.Tr>
        {hasMore && (
          <Table.Tr role="row">
            <Table.Td role="cell" colSpan={cells.length} pt={0}>
              <div className={classes.content}>{below}</div>
            </Table.Td>
          </Table.Tr>
        )}
      </>
    );
  },
  (before, after) =>
    before.row.original === after.row.original && before.columns === after.columns && before.detail === after.detail,
) as <Row>(props: RowsProps<Row>) => ReactNode;
