/** The compose file, as far as tests look into it. */
import { parse } from 'yaml';
import { textOf } from './places.ts';

export interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly restart: string;
  readonly stop_grace_period: string;
  readonly shm_size: string;
  readonly secrets: readonly string[];
  readonly volumes: readonly string[];
  readonly ports: readonly string[];
}

export interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

export const composeDir = 'packaging/docker';

export function readCompose(): Compose {
  return parse(textOf(`${composeDir}/compose.yaml`), { merge: true }) as Compose;
}

export interface Mount {
  readonly source: string;
  readonly target: string;
  readonly isVolume: boolean;
}

export function mountsOf({ volumes }: Service): readonly Mount[] {
  return volumes.map((text) => {
    const [source = '', target = ''] = text.split(':');
    return { source, target, isVolume: !/^[./]/.test(source) };
  });
}

/** The file that is a replica's configuration. @throws Error if none is mounted */
export function configFileOf(service: Service): string {
  const mount = mountsOf(service).find(({ target }) => target === '/etc/barista/barista.yaml');
  if (mount === undefined) throw new Error('no configuration is mounted');
  return `${composeDir}/${mount.source.replace(/^\.\//, '')}`;
}

/** `host` and `container` are ports. */
export function portsOf({
  ports,
}: Service): readonly { readonly host: number; readonly container: number; readonly on: string }[] {
  return ports.map((text) => {
    const [on = '', host, container] = text.split(':');
    return { on, host: Number(host), container: Number(container) };
  });
}
