//! The scheduler: one thread, and at each step chance decides which of the runnable tasks goes on or which operation of
//! the disk completes. The engine's background tasks and the clients are tasks alike.

use crate::disk::SimDisk;
use crate::time::{SeededRandom, Time};
use base::Environment;
use base::SplitMix64;
use base::environment::{Spawn, Task};
use base::lock::{Mutex, MutexGuard};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

struct Slot {
    name: String,
    task: Option<Task>,
    queued: bool,
    over: bool,
}

#[derive(Default)]
struct Tasks {
    slots: Vec<Slot>,
    runnable: Vec<usize>,
    /// Nothing is started any more.
    closed: bool,
}

/// The tasks of one incarnation.
pub struct Executor {
    tasks: Arc<Mutex<Tasks>>,
    /// Time.
    pub time: Arc<Time>,
    /// The disk.
    pub disk: SimDisk,
    rng: SplitMix64,
    steps: u64,
    hash: u64,
}

/// What became of a step.
#[derive(Debug, PartialEq, Eq)]
pub enum Stepped {
    /// A task went on, or an operation of the disk completed.
    Went,
    /// There is nothing to do at this moment.
    Idle,
    /// A task panicked.
    Stopped(Stop),
}

/// Why the executor stopped.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop {
    /// What was waited for has come.
    Done,
    /// The power is off.
    Cut,
    /// Nobody can go on and nothing is under way.
    Stuck,
    /// It goes on and on.
    Endless,
    /// A task panicked.
    Panic(String),
}

fn lock(m: &Mutex<Tasks>) -> MutexGuard<'_, Tasks> {
    m.lock()
}

struct TaskWaker {
    tasks: Weak<Mutex<Tasks>>,
    id: usize,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref()
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let Some(tasks) = self.tasks.upgrade() else {
            return;
        };
        let mut t = lock(&tasks);
        let id = self.id;
        let Some(s) = t.slots.get_mut(id) else { return };
        if !s.queued && !s.over {
            s.queued = true;
            t.runnable.push(id);
        }
    }
}

struct Spawner {
    tasks: Weak<Mutex<Tasks>>,
    /// How often somebody asked whether he is alone.
    asked: AtomicU64,
}

impl Spawn for Spawner {
    fn spawn(&self, name: &str, task: Task) {
        match self.tasks.upgrade() {
            Some(t) => add(&t, name, task),
            // As in `add`.
            None => std::mem::forget(task),
        }
    }

    /// Both answers are right at any time; what follows from them differs.
    fn is_alone(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(3)
    }
}

fn add(tasks: &Mutex<Tasks>, name: &str, task: Task) {
    let mut t = lock(tasks);
    if t.closed {
        drop(t);
        // A session that is dropped hands its transaction to a new task: dropping that would hand it on for ever.
        std::mem::forget(task);
        return;
    }
    let id = t.slots.len();
    t.slots.push(Slot {
        name: name.to_string(),
        task: Some(task),
        queued: true,
        over: false,
    });
    t.runnable.push(id);
}

impl Executor {
    /// Without tasks.
    pub fn new(disk: SimDisk, time: Arc<Time>, rng: SplitMix64) -> Executor {
        Executor {
            tasks: Arc::default(),
            time,
            disk,
            rng,
            steps: 0,
            hash: 0,
        }
    }

    /// The environment for an engine.
    pub fn environment(&self, rng: SplitMix64) -> Environment {
        Environment {
            disk: Arc::new(self.disk.clone()),
            clock: self.time.clone(),
            random: Arc::new(SeededRandom(Mutex::new(rng))),
            spawn: Arc::new(Spawner {
                tasks: Arc::downgrade(&self.tasks),
                asked: AtomicU64::new(0),
            }),
        }
    }

    /// Starts a task.
    pub fn spawn(&self, name: &str, task: impl Future<Output = ()> + Send + 'static) {
        add(&self.tasks, name, Box::pin(task));
    }

    /// Names of the tasks that have not ended.
    pub fn alive(&self) -> Vec<String> {
        let t = lock(&self.tasks);
        let alive = t.slots.iter().filter(|s| !s.over);
        alive.map(|s| s.name.clone()).collect()
    }

    /// Some task of that name has not ended.
    pub fn has(&self, name: &str) -> bool {
        lock(&self.tasks)
            .slots
            .iter()
            .any(|s| !s.over && s.name == name)
    }

    /// Virtual microseconds.
    pub fn now(&self) -> u64 {
        self.time.now()
    }

    /// Steps taken, and a hash of all decisions.
    pub fn trace(&self) -> (u64, u64) {
        let (h, ops) = self.disk.trace();
        (self.steps.wrapping_add(ops), self.hash ^ h.rotate_left(17))
    }

    /// Runs until `done`, at most `limit` steps.
    pub fn run(&mut self, limit: u64, mut done: impl FnMut(&Executor) -> bool) -> Stop {
        let mut left = limit;
        loop {
            if self.disk.is_dead() {
                return Stop::Cut;
            }
            if done(self) {
                return Stop::Done;
            }
            if left == 0 {
                return Stop::Endless;
            }
            left -= 1;
            match self.step() {
                None => {}
                Some(s) => return s,
            }
        }
    }

    fn step(&mut self) -> Option<Stop> {
        match self.try_step() {
            Stepped::Went => None,
            Stepped::Stopped(s) => Some(s),
            Stepped::Idle => match self.next() {
                Some(at) => {
                    self.time.advance_to(at);
                    None
                }
                None => Some(Stop::Stuck),
            },
        }
    }

    /// When there will be something to do.
    pub fn next(&self) -> Option<u64> {
        let next = [self.disk.next_ready(), self.time.next()];
        next.into_iter().flatten().min()
    }

    /// A step, if there is something to do.
    pub fn try_step(&mut self) -> Stepped {
        self.steps += 1;
        let on = self.time.now() + 1 + self.rng.below(20);
        self.time.advance_to(on);
        let ready = self.disk.ready();
        let n = lock(&self.tasks).runnable.len();
        if n + ready.len() == 0 {
            return Stepped::Idle;
        }
        let pick = self.rng.below((n + ready.len()) as u64) as usize;
        self.hash = (self.hash ^ pick as u64)
            .wrapping_mul(0x0000_0100_0000_01B3)
            .rotate_left(7);
        if pick >= n {
            let disk = self.disk.clone();
            let r = catch_unwind(AssertUnwindSafe(|| disk.complete(ready[pick - n])));
            return match r {
                Ok(()) => Stepped::Went,
                Err(e) => Stepped::Stopped(Stop::Panic(text(&*e))),
            };
        }
        let (id, task) = {
            let mut t = lock(&self.tasks);
            let id = t.runnable.remove(pick);
            let s = &mut t.slots[id];
            s.queued = false;
            (id, s.task.take())
        };
        let Some(mut task) = task else {
            return Stepped::Went;
        };
        let waker = Waker::from(Arc::new(TaskWaker {
            tasks: Arc::downgrade(&self.tasks),
            id,
        }));
        let mut cx = Context::from_waker(&waker);
        match catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(&mut cx))) {
            Ok(Poll::Pending) => {
                lock(&self.tasks).slots[id].task = Some(task);
                Stepped::Went
            }
            Ok(Poll::Ready(())) => {
                lock(&self.tasks).slots[id].over = true;
                drop(task);
                Stepped::Went
            }
            Err(e) => {
                let name = {
                    let mut t = lock(&self.tasks);
                    t.slots[id].over = true;
                    t.slots[id].name.clone()
                };
                // Its state may be anything.
                std::mem::forget(task);
                Stepped::Stopped(Stop::Panic(format!("task {name}: {}", text(&*e))))
            }
        }
    }

    /// Drops all tasks, as the end of the process does. What they still try reaches nothing.
    pub fn abandon(&mut self) {
        self.drop_tasks();
        self.time.clear();
    }

    /// As [`abandon`](Self::abandon), where the time is that of others too.
    pub fn drop_tasks(&mut self) {
        let slots = {
            let mut t = lock(&self.tasks);
            t.closed = true;
            t.runnable.clear();
            std::mem::take(&mut t.slots)
        };
        for s in slots {
            let name = s.name;
            let task = s.task;
            let r = catch_unwind(AssertUnwindSafe(move || drop(task)));
            if r.is_err() {
                eprintln!("dropping task {name} panicked");
            }
        }
    }
}

fn text(e: &(dyn std::any::Any + Send)) -> String {
    if let Some(s) = e.downcast_ref::<&str>() {
        return s.to_string();
    }
    match e.downcast_ref::<String>() {
        Some(s) => s.clone(),
        None => "a panic without words".into(),
    }
}
