/** What stands in place of the page when it cannot show what it was given: what happened, and a way on. React knows no other way than a class. */
import { Component, type ReactNode } from 'react';
import { Button } from './button.tsx';

interface Props {
  readonly children: ReactNode;
}

interface State {
  readonly problem: string | null;
}

export class ErrorBoundary extends Component<Props, State> {
  override readonly state: State = { problem: null };

  static getDerivedStateFromError(error: unknown): State {
    return { problem: error instanceof Error ? error.message : String(error) };
  }

  override render(): ReactNode {
    const { problem } = this.state;
    if (problem === null) return this.props.children;
    return (
      <main className="page-failed" role="alert">
        <h1>This run cannot be shown</h1>
        <p>
          What is told of it is not of the shape that this page reads, as in a file of another version, or one
          that was changed.
        </p>
        <p>
          <code>{problem}</code>
        </p>
        <Button onClick={beginAgain}>Begin with another run</Button>
      </main>
    );
  }
}

/** As without an address: the live run, or the first simulated one. */
function beginAgain(): void {
  location.hash = '';
  location.reload();
}
