/** Which item of a menu a key goes to, as people know it from menus elsewhere. Pure. */

/** `at`: the item that has the focus, -1 for none; null: the key is none of a menu's. */
export function itemForKey(key: string, at: number, count: number): number | null {
  switch (key) {
    case 'ArrowDown':
      return (at + 1) % count;
    case 'ArrowUp':
      return at <= 0 ? count - 1 : at - 1;
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return null;
  }
}
