/**
 * Which requests a listener takes: a defence against web pages that make a browser talk to it.
 *
 * Responsible for: judging the headers Host, Origin and Sec-Fetch-Site. Does not authenticate anyone.
 * A page of another site cannot choose Origin (cross-site requests), and one whose name was made to resolve to this machine (DNS rebinding)
 * cannot hide that name from Host. So on a loopback address only loopback names are answered, elsewhere only addresses and names that are known, and an Origin must be this very server's.
 * A browser that asks for something without an Origin, as for an image, says in Sec-Fetch-Site for whom.
 */
import { isIP } from 'node:net';

export interface RequestHeaders {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  readonly 'sec-fetch-site'?: string | string[] | undefined;
  readonly 'sec-fetch-mode'?: string | string[] | undefined;
}

/** Where a listener is, as far as those who come to it may call it. */
export interface ListenerNames {
  /** What it is bound to. */
  readonly host: string;
  /** What else it is called, in small letters; default: nothing. */
  readonly names?: readonly string[];
}

const loopbackNames = new Set(['localhost', '127.0.0.1', '::1']);

/** The name in `name:port`, `[v6]:port` or either without a port; null if it is no such thing. */
function hostName(header: string): string | null {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/@\s]+))(?::\d{1,5})?$/.exec(header);
  return match === null ? null : (match[1] ?? match[2] ?? '').toLowerCase();
}

export function isLoopbackName(name: string): boolean {
  return loopbackNames.has(name) || /^127(?:\.\d{1,3}){3}$/.test(name);
}

/** True for the remote address of a connection that came from this machine. */
export function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && (address === '::1' || /^(?:::ffff:)?127\./.test(address));
}

/** Why a request must be refused, or null. */
export function requestProblem(headers: RequestHeaders, { host, names = [] }: ListenerNames): string | null {
  const name = headers.host === undefined ? null : hostName(headers.host);
  if (name === null) return 'the Host header is missing or malformed';
  if (!names.includes(name)) {
    if (isLoopbackName(host) && !isLoopbackName(name))
      return `the Host header names "${name}", and this server is only for its own machine`;
    // An address cannot be made to resolve to something else.
    if (isIP(name) === 0 && name !== host.toLowerCase() && !isLoopbackName(name))
      return `the Host header names "${name}", which is no name of this server (http.names)`;
  }
  if (headers.origin !== undefined && !isOwn(headers.origin, headers.host))
    return 'the request comes from a page of another site';
  return isForAnotherSite(headers) ? 'the request is made for a page of another site' : null;
}

function isOwn(origin: string, host: string | undefined): boolean {
  return origin === `http://${host ?? ''}` || origin === `https://${host ?? ''}`;
}

/** A person may follow a link to here. */
function isForAnotherSite(headers: RequestHeaders): boolean {
  const site = headers['sec-fetch-site'];
  return (site === 'cross-site' || site === 'same-site') && headers['sec-fetch-mode'] !== 'navigate';
}
