/** Which place in the specifications is shown, for React: as the address says, also when a link leads elsewhere, and as somebody goes. */
import { useCallback, useEffect, useState } from 'react';
import { placeFrom, readSpecPlace, type SpecPlace, writeSpecPlace } from '../../spec/spec-address.ts';

export function usePlace(): readonly [SpecPlace, (to: SpecPlace) => void] {
  const [place, setPlace] = useState(readSpecPlace);
  useEffect(() => {
    const follow = (): void => setPlace((from) => placeFrom(from, location.hash));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  const go = useCallback((to: SpecPlace) => {
    setPlace(to);
    writeSpecPlace(to);
  }, []);
  return [place, go];
}
