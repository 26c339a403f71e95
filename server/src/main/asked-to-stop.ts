/**
 * When a replica is asked to stop: by a signal, or because the demo that started it is gone.
 *
 * Under the demo there is a channel to it, which closes however the demo ended.
 */

/** Resolves with the reason. */
export function untilAskedToStop(): Promise<string> {
  return new Promise((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => resolve(name));
    const demoGone = (): void => resolve('the demo is gone');
    // Undefined: there never was a channel. False: it closed while this process was loading its code, and nobody tells of it any more.
    const connected = process.connected as boolean | undefined;
    if (connected === true) process.once('disconnect', demoGone);
    if (connected === false) demoGone();
  });
}
