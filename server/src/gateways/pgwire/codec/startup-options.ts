/** The settings that a startup packet asks for: parameters of their own, and `options` as PostgreSQL takes it apart. Pure. */
import { startupParameter, type StartupMessage } from './startup.ts';

/** The value of a setting, or undefined. PostgreSQL takes the last of several, and a parameter of its own before one in `options`. `name` in lower case. */
export function startupSetting(startup: StartupMessage, name: string): string | undefined {
  const own = startup.parameters.findLast(([key]) => key.toLowerCase() === name)?.[1];
  if (own !== undefined) return own;
  const settings = settingsIn(startupParameter(startup, 'options') ?? '');
  return settings.findLast(([key]) => key === name)?.[1];
}

/** All of them, by their names in lower case. */
export function startupSettings({ parameters }: StartupMessage): readonly (readonly [string, string])[] {
  return parameters.flatMap(([name, value]) =>
    name === 'options' ? settingsIn(value) : [[name.toLowerCase(), value] as const],
  );
}

/** `-c name=value`, `-cname=value` and `--name=value`, with dashes for underscores in the name; others are PostgreSQL's business. */
function settingsIn(options: string): readonly (readonly [string, string])[] {
  const words = wordsOf(options);
  const settings: (readonly [string, string])[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at]!;
    let text: string | undefined;
    if (word === '-c') text = words[++at];
    else if (word.startsWith('-c') || word.startsWith('--')) text = word.slice(2);
    const equals = text?.indexOf('=') ?? -1;
    if (text === undefined || equals <= 0) continue;
    settings.push([text.slice(0, equals).replaceAll('-', '_').toLowerCase(), text.slice(equals + 1)]);
  }
  return settings;
}

/** Separated by blanks; a backslash takes the next character as it is. */
function wordsOf(options: string): readonly string[] {
  const found = options.match(/(?:\\[\s\S]?|[^\s\\])+/g) ?? [];
  return found.map((word) => word.replace(/\\([\s\S]?)/g, '$1'));
}
