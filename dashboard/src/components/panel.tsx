/** A titled region of the page. */
import { useId } from 'react';
import type { ReactNode } from 'react';

interface PanelProps {
  readonly title: string;
  /** Shown beside the title. */
  readonly note?: ReactNode;
  readonly actions?: ReactNode;
  readonly className?: string;
  readonly children: ReactNode;
}

export function Panel({ title, note, actions, className, children }: PanelProps) {
  const id = useId();
  return (
    <section className={className === undefined ? 'panel' : `panel ${className}`} aria-labelledby={id}>
      <header className="panel-head">
        <h2 className="panel-title" id={id}>
          {title}
        </h2>
        {note}
        {actions === undefined ? null : <div className="panel-actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
}
