import { Table, VisuallyHidden, type MantineBreakpoint } from '@mantine/core';
import { flexRender, getCoreRowModel, useReactTable, type ColumnDef, type RowData } from '@tanstack/react-table';
import { Fragment, type ReactNode } from 'react';

declare module '@tanstack/react-table' {
  // oxlint-disable-next-line no-unused-vars -- the names are the library's
  interface ColumnMeta<TData extends RowData, TValue> {
    /** On narrower screens the column is not there: another one tells the same. */
    readonly visibleFrom?: MantineBreakpoint;
    readonly width?: string;
    /** The cells name their row. */
    readonly isRowHeader?: boolean;
  }
}

export type Columns<Row> = ColumnDef<Row>[];

interface DataTableProps<Row> {
  /** What the table is of: heard, not seen. */
  readonly caption: string;
  readonly columns: Columns<Row>;
  readonly rows: readonly Row[];
  /** What stands below a row, over its whole width. */
  readonly detail?: (row: Row) => ReactNode;
  readonly isBusy?: boolean;
}

/** A table whose rows keep their place, and their focus, when they are read anew. */
export function DataTable<Row extends { readonly id: string }>({
  caption,
  columns,
  rows,
  detail,
  isBusy = false,
}: DataTableProps<Row>) {
  const table = useReactTable({
    columns,
    data: rows as Row[],
    getCoreRowModel: getCoreRowModel(),
    getRowId: ({ id }) => id,
  });
  return (
    <Table verticalSpacing="xs" aria-busy={isBusy} style={{ opacity: isBusy ? 0.6 : 1 }}>
      <caption style={{ position: 'absolute' }}>
        <VisuallyHidden>{caption}</VisuallyHidden>
      </caption>
      <Table.Thead>
        {table.getHeaderGroups().map((group) => (
          <Table.Tr key={group.id}>
            {group.headers.map(({ id, column, getContext }) => (
              <Table.Th
                key={id}
                scope="col"
                w={column.columnDef.meta?.width}
                style={{ overflowWrap: 'normal' }}
                visibleFrom={column.columnDef.meta?.visibleFrom}
              >
                {flexRender(column.columnDef.header, getContext())}
              </Table.Th>
            ))}
          </Table.Tr>
        ))}
      </Table.Thead>
      <Table.Tbody>
        {table.getRowModel().rows.map((row) => {
          const below = detail?.(row.original);
          const cells = row.getVisibleCells();
          return (
            <Fragment key={row.id}>
              <Table.Tr data-row={row.id} style={below ? { borderBottom: 'none' } : undefined}>
                {cells.map(({ id, column, getContext }) => {
                  const { cell, meta } = column.columnDef;
                  const content = flexRender(cell, getContext());
                  return meta?.isRowHeader ? (
                    <Table.Th key={id} scope="row" fw="normal" visibleFrom={meta.visibleFrom}>
                      {content}
                    </Table.Th>
                  ) : (
                    <Table.Td key={id} visibleFrom={meta?.visibleFrom} style={{ verticalAlign: 'top' }}>
                      {content}
                    </Table.Td>
                  );
                })}
              </Table.Tr>
              {below && (
                <Table.Tr>
                  <Table.Td colSpan={cells.length} pt={0}>
                    {below}
                  </Table.Td>
                </Table.Tr>
              )}
            </Fragment>
          );
        })}
      </Table.Tbody>
    </Table>
  );
}
