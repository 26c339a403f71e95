/** What may stand for a host: an address, or a name that can be looked up. Pure, and needs nothing. */

export const hostWords =
  'an address (10.0.0.1, fd00::1, fe80::1%eth0) or a name of letters, digits, "-", "_" and dots whose last part is no number';

/** Neither brackets nor a port, a path or a user are part of it. A name that ends with a number would be an address with a slip in it. */
export function isHost(text: string): boolean {
  if (text.includes(':')) return isAddress6(text);
  const parts = text.replace(/\.$/, '').split('.');
  if (!parts.every((part) => /^[\p{L}\p{M}\p{N}_-]+$/u.test(part))) return false;
  return /^(?:\d+|0x[\da-f]*)$/i.test(parts.at(-1)!) ? isAddress4(parts, text) : true;
}

function isAddress4(parts: readonly string[], text: string): boolean {
  if (parts.length !== 4 || text.endsWith('.')) return false;
  return parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
}

/** With the zone that an address of one link needs. */
function isAddress6(text: string): boolean {
  const [address = '', zone, ...more] = text.split('%');
  if (more.length > 0 || (zone !== undefined && !/^[\w.-]+$/.test(zone))) return false;
  return /^[\da-f:.]+$/i.test(address) && URL.canParse(`http://[${address}]/`);
}
