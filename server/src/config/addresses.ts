/** Lists of addresses and networks, as rules of access have them. */
import { isIP } from 'node:net';

/** Whether it is `all`, or a list, separated by commas, of `loopback`, addresses (`10.1.2.3`, `fd00::1`) and networks (`10.0.0.0/8`). */
export function isAddresses(text: string): boolean {
  return listOf(text).every((each) => each === 'all' || each === 'loopback' || isNetwork(each));
}

/** Whether all of them are of the machine itself. */
export function isOwnMachine(text: string): boolean {
  return listOf(text).every((each) => {
    if (each === 'loopback') return true;
    const [address = '', prefix] = each.split('/');
    const isWhole = prefix === undefined || Number(prefix) === (isIP(address) === 6 ? 128 : 32);
    return (
      (address === '::1' && isWhole) ||
      (isIP(address) === 4 && address.startsWith('127.') && Number(prefix ?? 32) >= 8)
    );
  });
}

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0 || address.includes('%')) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 6 ? 128 : 32));
}

function listOf(text: string): readonly string[] {
  return text.split(',').map((each) => each.trim());
}
