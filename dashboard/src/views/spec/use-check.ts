/** What is held to the specification, and what comes of it, for React. */
import { useEffect, useMemo, useState } from 'react';
import { type Checked, latestCheck, type Subject } from '../../spec/latest-check.ts';
import { startCheck } from '../../spec/start-checker.ts';

export function useCheck(): readonly [Checked | null, (subject: Subject) => void] {
  const [checked, setChecked] = useState<Checked | null>(null);
  const latest = useMemo(() => latestCheck(startCheck, setChecked), []);
  useEffect(() => () => latest.stop(), [latest]);
  return [checked, latest.check];
}
