/** What is loaded once it is asked for, for React. */
import { useEffect, useState } from 'react';

export type Loaded<T> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'there'; readonly value: T };

/** `key`: another one asks anew. What comes for an earlier key is let go. */
export function useLoaded<T>(key: string, load: (key: string) => Promise<T>): Loaded<T> {
  const [loaded, setLoaded] = useState<{ readonly key: string; readonly state: Loaded<T> } | null>(null);
  useEffect(() => {
    let isWanted = true;
    const settle = (state: Loaded<T>): void => {
      if (isWanted) setLoaded({ key, state });
    };
    load(key).then(
      (value) => settle({ kind: 'there', value }),
      (error: unknown) =>
        settle({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }),
    );
    return () => {
      isWanted = false;
    };
  }, [key, load]);
  return loaded?.key === key ? loaded.state : { kind: 'loading' };
}
