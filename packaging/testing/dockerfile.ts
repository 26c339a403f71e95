/** A Dockerfile, as far as tests look into it: its instructions, by stage. */

export interface Instruction {
  readonly name: string;
  readonly text: string;
}

export interface Stage {
  readonly image: string;
  readonly name: string | null;
  readonly instructions: readonly Instruction[];
}

/** @throws Error at a line that is no instruction */
export function readDockerfile(text: string): readonly Stage[] {
  const lines = text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.trimStart().startsWith('#'))
    .join('\n')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n');
  const stages: (Stage & { instructions: Instruction[] })[] = [];
  for (const line of lines) {
    const [, name = '', rest = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    if (name === '') throw new Error(`no instruction: ${line}`);
    if (name === 'FROM') {
      const [, image = '', stage = null] = /^(\S+)(?: AS (\S+))?$/.exec(rest) ?? [];
      stages.push({ image, name: stage, instructions: [] });
    } else {
      const last = stages.at(-1);
      if (last === undefined) throw new Error(`${name} before FROM`);
      last.instructions.push({ name, text: rest });
    }
  }
  return stages;
}

export function textsOf(stage: Stage, name: string): readonly string[] {
  return stage.instructions.filter((one) => one.name === name).map(({ text }) => text);
}

/** Of ENTRYPOINT and CMD, in the form in which no shell stands between. @throws Error if it is not in that form */
export function wordsOf(stage: Stage, name: 'ENTRYPOINT' | 'CMD'): readonly string[] {
  const words: unknown = JSON.parse(textsOf(stage, name).at(-1) ?? '[]');
  if (!Array.isArray(words) || words.some((word) => typeof word !== 'string'))
    throw new Error(`${name} is a shell's`);
  return words as string[];
}
