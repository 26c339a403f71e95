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
    if (process.connected) process.once('disconnect', demoGone);
    // It may have closed while this process was loading its code: then nobody tells of it any more. Without a channel it is undefined.
    else if (process.connected === false) demoGone();
  });
}
