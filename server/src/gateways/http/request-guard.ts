/**
 * Which requests a listener takes: a defence against web pages that make a browser talk to it.
 *
 * Responsible for: judging the Host and Origin headers. Does not authenticate anyone.
 * A page of another site cannot choose Origin (cross-site requests), and one whose name was made to resolve to this machine (DNS rebinding)
 * cannot hide that name from Host. So on a loopback address only loopback names are answered, and an Origin must be this very server's.
 */

export interface RequestHeaders {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
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

/** Why a request must be refused, or null. `listenHost`: the address that the listener is bound to. */
export function requestProblem(headers: RequestHeaders, listenHost: string): string | null {
  const name = headers.host === undefined ? null : hostName(headers.host);
  if (name === null) return 'the Host header is missing or malformed';
  if (isLoopbackName(listenHost) && !isLoopbackName(name)) {
    return `the Host header names "${name}", and this server is only for its own machine`;
  }
  if (headers.origin === undefined) return null;
  if (headers.origin !== `http://${headers.host}` && headers.origin !== `https://${headers.host}`) {
    return 'the request comes from a page of another site';
  }
  return null;
}
