import { loadMutant } from '/work/wt/primary/harness/groups/mutant.ts';
import { plantedBugs } from '/work/wt/primary/harness/groups/planted.ts';
const cpu=()=>{const u=process.cpuUsage();return (u.user+u.system)/1e6};
for (const { name, mutations, strain, seed: first, expected } of plantedBugs) {
  const t0=cpu();
  const run = await loadMutant(name+'-m', mutations);
  const t1=cpu();
  let found; const per=[];
  for (let seed = first; found === undefined && seed < first + 12; seed++) {
    const a=cpu();
    const { faults, counts } = await run({ seed, rounds: 1, ...strain });
    found = faults.find((f) => expected.test(f));
    per.push(`${seed}:${(cpu()-a).toFixed(1)}${found?'!':''}`);
  }
  console.log((cpu()-t0).toFixed(1), name, 'build',(t1-t0).toFixed(1), per.join(' '));
}
