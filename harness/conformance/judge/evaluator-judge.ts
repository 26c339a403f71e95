/** The evaluator of this repository (harness/tla) as the judge of what was recorded: it reads the specification itself. Pure, wherever its text comes from. */
import { type CompiledModel, compileModel } from '../../tla/explore.ts';
import { formatValue } from '../../tla/format-value.ts';
import { readConfig } from '../../tla/model-config.ts';
import { readLiteral } from '../../tla/read-literal.ts';
import type { Judge, RecordedModel } from './recorded-model.ts';

const COMPILED_MAX = 16;

/** `textOf`: of a module of specs/. */
export function judgeOver(textOf: (spec: string) => string | Promise<string>): Judge {
  /** By all of their texts. A run of a trace is judged in pieces by one and the same model. */
  const compiled = new Map<string, CompiledModel>();

  async function modelOf({ module, text, data, specs, config }: RecordedModel): Promise<CompiledModel> {
    const key = [module, text, data.module, data.name, config, ...specs].join('\n\n');
    const known = compiled.get(key);
    if (known !== undefined) return known;
    const modules = new Map<string, string>();
    for (const spec of specs) modules.set(spec, await textOf(spec));
    modules.set(module, text);
    modules.set(data.module, `---- MODULE ${data.module} ----\n====\n`);
    const model = compileModel({ modules, main: module, data: [data.name], config: readConfig(config) });
    if (compiled.size >= COMPILED_MAX) compiled.clear();
    compiled.set(key, model);
    return model;
  }

  return async (recorded) => {
    const { data } = recorded;
    const model = await modelOf(recorded);
    const printed = model.run(new Map([[data.name, readLiteral(data.literal)]]));
    return printed.map((value) => `${formatValue(value)}\n`).join('');
  };
}
