"""Run under `accelerate launch` on 1 or 2 processes: score one fixed batch of answers, write rewards and advantages."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from accelerate.utils import gather_object
from datasets import Dataset
from rl_doubles import judge, readable, tasks, tiny

from kzlib import coevolution, evaluation
from kzlib.ca_grpo import CAGRPO, CAGRPOTrainer
from kzlib.rewards import CoderReward

if __name__ == "__main__":  # collected as a module for doctests too, where other tests read real answers
    evaluation.extract = readable


def main(out: str) -> None:
    model, tokenizer = tiny()
    processes = int(os.environ["WORLD_SIZE"])
    pool = tasks(1)
    scored = CoderReward({t.id: t for t in pool}, judge, tokenizer.eos_token_id)
    settings = coevolution.GroupSettings(1, 1, 8, 8 // processes, 1e-3, 4, processes=processes)
    rows = [{"prompt": "<|coder|>a<|kernel|>", "task_id": pool[0].id, "backend": "triton"}] * 2
    trainer = CAGRPOTrainer(
        model=model,
        reward_funcs=[scored.correct, scored.speed],
        args=coevolution.trainer_arguments(settings, Path(out).with_suffix("")),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        objective=CAGRPO(alpha=0.25),
    )
    # The same eight answers on any number of processes, in the order that the sampler deals them.
    answers = [tokenizer("abcdefgh"[i] * 2)["input_ids"] for i in range(8)]
    share = 8 // processes
    mine = answers[trainer.accelerator.process_index * share :][:share]
    trainer._generate_single_turn = lambda ids, *_: (mine, None)  # type: ignore[method-assign]
    trainer.model.train()
    batch = trainer._generate_and_score_completions([rows[0]] * share)
    local = batch["advantages"].tolist()
    gathered = gather_object(local)
    sizes = gather_object([len(local)])
    if trainer.accelerator.is_main_process:
        rewards = trainer._scored[0].flatten().tolist()
        Path(out).write_text(json.dumps({"rewards": rewards, "advantages": gathered, "local": sizes}))
    trainer.accelerator.wait_for_everyone()
    trainer.accelerator.end_training()  # or whoever is last loses its connection and aborts


if __name__ == "__main__":
    main(sys.argv[1])
