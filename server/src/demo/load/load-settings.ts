/** What may be asked of the demo's load, and what it is at first. */
import { z } from 'zod';
import type { LoadSettings } from '../../api/load.ts';

export const loadSettingsSchema = z.strictObject({
  isRunning: z.boolean(),
  clients: z.int().min(1).max(50),
  perSecond: z.number().min(1).max(5_000),
  readShare: z.number().min(0).max(1),
});

export const usualLoad: LoadSettings = { isRunning: true, clients: 4, perSecond: 20, readShare: 0.2 };
