/** The rows of a result, of which only those in view are drawn. Loaded with the first result that has rows. */
import {
  Cell,
  Column,
  ResizableTableContainer,
  Row,
  Table,
  TableBody,
  TableHeader,
  TableLayout,
  Virtualizer,
} from 'react-aria-components';
import type { StatementResult } from '../../../../server/src/api/sql.ts';
import { columnWidths } from '../../model/result-columns.ts';

const rowHeight = 27;
const layoutOptions = { rowHeight, headingHeight: rowHeight };

export function ResultTable({ result }: { readonly result: StatementResult }) {
  const widths = columnWidths(result);
  const columns = result.columns.map((name, index) => ({ id: `c${index}`, name, width: widths[index]! }));
  const rows = result.rows.map((cells, index) => ({ id: `r${index}`, cells }));
  return (
    <ResizableTableContainer className="sql-table">
      <Virtualizer layout={TableLayout} layoutOptions={layoutOptions}>
        <Table
          aria-label="Rows"
          className="sql-rows num"
          data-testid="sql-rows"
          style={{ height: Math.min(rowHeight * (rows.length + 1) + 2, 10_000) }}
        >
          <TableHeader columns={columns}>
            {(column) => (
              <Column
                id={column.id}
                isRowHeader={column.id === 'c0'}
                minWidth={column.width}
                defaultWidth={column.id === columns.at(-1)!.id ? '1fr' : column.width}
              >
                {column.name}
              </Column>
            )}
          </TableHeader>
          <TableBody items={rows}>
            {(row) => (
              <Row columns={columns} id={row.id}>
                {(column) => <Cell>{cellOf(row.cells[Number(column.id.slice(1))])}</Cell>}
              </Row>
            )}
          </TableBody>
        </Table>
      </Virtualizer>
    </ResizableTableContainer>
  );
}

function cellOf(value: string | null | undefined) {
  return value == null ? (
    <i className="quiet">null</i>
  ) : (
    <span title={value.length > 40 ? value : undefined}>{value}</span>
  );
}
