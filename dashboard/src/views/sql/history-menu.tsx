/** What was run before, to be taken up again. */
import { Menu, MenuItem, MenuTrigger, Popover, Pressable } from 'react-aria-components';
import { Button } from '../../components/button.tsx';
import type { HistoryItem } from '../../model/sql-history.ts';

interface HistoryMenuProps {
  readonly history: readonly HistoryItem[];
  readonly onPick: (sql: string) => void;
}

export function HistoryMenu({ history, onPick }: HistoryMenuProps) {
  const items = history.map((item, index) => ({ id: String(history.length - index), item }));
  return (
    <MenuTrigger>
      <Pressable>
        <Button icon="history" data-testid="sql-history">
          History
        </Button>
      </Pressable>
      <Popover className="menu-popover history-popover" placement="bottom end">
        <Menu
          className="menu"
          aria-label="Statements that were run"
          items={items}
          renderEmptyState={() => <p className="empty">Nothing was run yet.</p>}
          onAction={(id) => {
            const picked = items.find((one) => one.id === id);
            if (picked !== undefined) onPick(picked.item.sql);
          }}
        >
          {({ id, item }) => (
            <MenuItem id={id} className="menu-item history-item" textValue={item.sql}>
              <span className="mono history-sql">{item.sql.replace(/\s+/g, ' ')}</span>
              <span className="history-outcome" data-failed={item.failed}>
                <span className="mono">{item.replica}</span> {item.outcome}
              </span>
            </MenuItem>
          )}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}
