"""Fits whose hooks log, and a test behind them."""
from drawn_rows.statements import Log, helpers
from drawn_rows.walk import Loader, Name, Walk, reduced

STEP = ["training_step", "on_after_backward", "on_before_optimizer_step", "on_train_batch_end"]
HOOKS = {  # stage, and the hook's C: its parameters but for the last, which is `void *user`
    "training_step": (0, "xt_module *net, xt_batch b"),
    "on_after_backward": (0, "xt_module *net"),
    "on_before_optimizer_step": (0, "xt_module *net"),
    "on_train_batch_end": (0, "xt_module *net, const xt_batch *b, xt_tensor loss"),
    "step_end": (0, "xt_trainer *t"),
    "validation_step": (1, "xt_module *net, xt_batch b"),
    "on_validation_batch_end": (1, "xt_module *net, const xt_batch *b"),
    "test_step": (2, "xt_module *net, xt_batch b"),
    "on_train_start": (3, "xt_module *net"),
    "on_train_epoch_start": (3, "xt_module *net, int64_t epoch"),
    "on_train_epoch_end": (3, "xt_module *net, int64_t epoch"),
    "on_validation_epoch_start": (4, "xt_module *net, int64_t epoch"),
    "on_validation_epoch_end": (4, "xt_module *net, int64_t epoch"),
    "on_test_start": (5, "xt_module *net"),
    "on_test_end": (5, "xt_module *net"),
}
WITHIN = ["training_step", "on_after_backward", "on_before_optimizer_step", "validation_step", "test_step"]
STAGES = ("train", "validate", "test")


class Fit:
    """A fit and a test behind it, whose hooks log."""

    def __init__(self, r):
        self.names = []
        for group, letter in enumerate("tvwabc"):  # of the steps of a stage, and of the hooks around its epochs
            self.names += [[Name(r, "%s%d" % (letter, k), min(group % 3, 1)) for k in range(2)]]
        for name in sum(self.names[3:], []):  # such values are of the epoch
            name.step = name.epoch = None
            name.stage = 1
        self.train, self.val, self.test = (Loader(r, name) for name in ("train", "val", "test"))
        self.epochs, self.accumulate = r.randint(1, 3), r.choice([1, 1, 2, 3])
        self.every, self.within = r.choice([1, 2, 3, 50]), r.choice([0, 0] + [1, 2][:len(self.train.sizes)])
        self.alone = r.choice([0, 0, 1, 3]), r.choice([0, 0, 2])  # steps of a loop, before the fit and behind it
        # epochs of a fit that another one resumes; 0: there is none
        self.first = r.choice([0, 0] + list(range(1, self.epochs)))
        self.hooks = {}
        for hook, (group, _) in HOOKS.items():
            self.hooks[hook] = [Log(r, self.names[group], group > 2) for _ in range(r.choice([0, 0, 1, 1, 2]))]
            for log in self.hooks[hook]:
                log.weight = None if group > 2 else log.weight
        # hooks that go over a loader of their own before they log, which is nothing to the fit
        self.own, passes = Loader(r, "own"), r.random() < 0.4
        self.passing = [hook for hook in HOOKS if hook not in WITHIN and passes and r.random() < 0.4]

    def write(self, seed):
        text = helpers(sum(self.names, []))
        text += "static int site_LOOP[%d];\nstatic xt_loader *own_LOOP;\n" % (Log.sites + 1)
        for hook, (_, parameters) in HOOKS.items():
            text += "static %s %s_LOOP(%s, void *user) {\n" % (
                "xt_tensor" if hook == "training_step" else "void", hook, parameters)
            if hook in self.passing:
                text += "    for (xt_batch own; xt_next(own_LOOP, &own);) {\n    }\n"
            text += "".join(log.c("    ").replace("site[", "site_LOOP[") for log in self.hooks[hook])
            if "step" in hook.split("_")[-1] and "b" in parameters.split():
                text += "    %sxt_forward(net, b.x)%s;\n" % (
                    ("return xt_mean(", ")") if hook == "training_step" else ("", ""))
            text += "}\n"
        text += """static xt_optimizer *sgd_LOOP(xt_module *net, void *user) {
    return xt_sgd(net, .lr = 0.01);
}
static void loop_LOOP(void) {
    xt_task task = {.net = net, .configure_optimizers = sgd_LOOP, %s};
    xt_callback_desc mine = {.struct_size = sizeof mine, .name = "mine", .step_end = step_end_LOOP};
""" % ", ".join(".%s = %s_LOOP" % (hook, hook) for hook in HOOKS if hook != "step_end")
        for l in (self.train, self.val, self.test):
            text += "    xt_loader *%s = data(%d, %d, %d);\n" % (l.name, l.samples, l.batch, l.pads)
        text += "    own_LOOP = data(%d, %d, %d);\n" % (self.own.samples, self.own.batch, self.own.pads)
        text += """    xt_trainer *t = NULL;
    for (int whole = %d; whole < 2; whole++) {
        t = xt_trainer_new(.max_epochs = whole ? %d : %d, .accumulate_grad_batches = %d, .log_every_n_steps = %d,
            .val_every_n_batches = %d, .num_sanity_val_steps = 0, .checkpointing = XT_OFF, .progress_bar = XT_OFF,
            .resume = whole && %d ? "LOOP.ckpt" : NULL);
        xt_trainer_add(t, xt_callback_new(&mine, NULL));
        train_alone(%d);
        if (xt_fit(t, &task, train, val)) exit(3);
        if (!whole && xt_trainer_save(t, "LOOP.ckpt")) exit(5);
    }
    train_alone(%d);
    if (xt_test(t, &task, test)) exit(4);
}
""" % (not self.first, self.epochs, self.first, self.accumulate, self.every, self.within, self.first, *self.alone)
        return text.replace("LOOP", str(seed))

    def call(self, hook):
        """What the hook's calls log now: [name, value]."""
        self.got = []
        for log in self.hooks[hook]:
            log.walk(self)
        return self.got

    visit = Walk.visit

    def log(self, name, weight):
        self.n += 1
        self.got.append((name, self.n, self.size if weight is None else weight))

    def emit(self, stage, level, where, values):
        for name, v in values:
            if v:
                self.rows.append(where + (STAGES[stage], level, name.column(level), reduced(name, v)))

    def between(self, stage, hook, where):
        values, self.size = {}, 1
        for name, v, w in self.call(hook):
            values.setdefault(name, []).append((v, w))
        self.emit(stage, "epoch", where, values.items())

    def record(self, values):
        for name, v, w in values:
            window, old = self.step.get(name, (0, []))
            self.step[name] = (self.window, (old if window == self.window else []) + [(v, w)])
            self.sums.setdefault(name, []).append((v, w))

    def row(self, seen):
        self.emit(0, "step", self.where(), [(k, v) for k, (w, v) in self.step.items() if w > seen and k.levels()[0]])

    def where(self):
        return (self.updates, self.epoch, self.batch, self.samples)

    def behind(self, where, loader):
        """Behind a pass over it: at the pass's last batch, as the pass's own row."""
        return where[:2] + (len(loader.sizes) - 1,) + where[3:]

    def evaluate(self, stage, loader, hooks, epoch):
        newest, sums = {}, {}
        for i, self.size in enumerate(loader.sizes):
            window = {}
            for name, v, w in sum((self.call(hook) for hook in hooks), []):
                window.setdefault(name, []).append((v, w))
                sums.setdefault(name, []).append((v, w))
            newest.update(window)
        where = (self.updates, epoch, len(loader.sizes) - 1, self.samples)
        self.emit(stage, "step", where, [(k, v) for k, v in newest.items() if k.levels()[0]])
        self.emit(stage, "epoch", where, [(k, v) for k, v in sums.items() if k.levels()[1]])

    def validate(self):
        self.between(1, "on_validation_epoch_start", self.where())
        self.evaluate(1, self.val, ["validation_step", "on_validation_batch_end"], self.epoch)
        self.between(1, "on_validation_epoch_end", self.behind(self.where(), self.val))

    def walk(self):
        self.n = self.updates = self.samples = self.epoch = self.batch = self.window = 0
        self.rows, self.counts, self.step, behind, opened, row_window, row_step = [], {}, {}, [], False, 0, -1
        last = len(self.train.sizes) - 1
        for self.epoch in range(self.epochs):
            self.batch, self.sums = 0, {}
            fit_ends = self.epoch + 1 in (self.first, self.epochs)
            if self.epoch in (0, self.first):
                self.between(0, "on_train_start", self.where())
            self.between(0, "on_train_epoch_start", self.where())
            for i, size in enumerate(self.train.sizes):
                ends = (i + 1) % self.accumulate == 0 or i == last
                if i % self.accumulate == 0 and not opened:
                    self.window += 1
                opened, self.size = False, size
                values = behind
                for hook in STEP:
                    if ends or hook != "on_before_optimizer_step":
                        values = values + self.call(hook)
                self.record(values)
                behind, self.batch, self.samples = [], i, self.samples + size
                if ends:
                    self.updates += 1
                    if self.updates % self.every == 0:
                        self.row(row_window)
                        row_window, row_step = self.window, self.updates
                    behind = self.call("step_end")
                if self.within and (i + 1) % self.within == 0:
                    self.validate()
            if fit_ends and row_step != self.updates:
                self.row(row_window)
            if any(name.levels()[1] for name, _, _ in behind):
                self.window, opened = self.window + 1, True
                self.record(behind)
                behind = []
            self.emit(0, "epoch", self.where(), [(k, v) for k, v in self.sums.items() if k.levels()[1]])
            if not self.within:
                self.validate()
            self.between(0, "on_train_epoch_end", self.where())
            if fit_ends and opened:  # and the next step has it too, as that of the resumed fit
                self.row(self.window - 1)
            elif fit_ends:
                noted = {}
                for name, v, w in behind:
                    noted.setdefault(name, []).append((v, w))
                self.emit(0, "step", self.where(), noted.items())
                behind = []  # written, and not in what is saved behind the fit
        after = (self.updates, self.epochs, last, self.samples)
        self.between(2, "on_test_start", after)
        self.evaluate(2, self.test, ["test_step"], self.epochs)
        self.between(2, "on_test_end", self.behind(after, self.test))
        return self.rows
