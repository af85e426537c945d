/* Everything: #include <xtrain/xtrain.h> and link with -lxtrain. The README has the first program; each header
 * says the rest. */
#ifndef XTRAIN_XTRAIN_H
#define XTRAIN_XTRAIN_H
#include <xtrain/base.h>
#include <xtrain/tensor.h>
#include <xtrain/ops.h>
#include <xtrain/names.h>
#include <xtrain/linalg.h>
#include <xtrain/special.h>
#include <xtrain/sparse.h>
#include <xtrain/losses.h>
#include <xtrain/distributions.h>
#include <xtrain/functional.h>
#include <xtrain/loop.h>
#include <xtrain/step.h>
#include <xtrain/transforms.h>
#include <xtrain/module.h>
#include <xtrain/layers.h>
#include <xtrain/optim.h>
#include <xtrain/plan.h>
#include <xtrain/schedule.h>
#include <xtrain/data.h>
#include <xtrain/memory.h>
#include <xtrain/mesh.h>
#include <xtrain/metrics.h>
#include <xtrain/dist.h>
#include <xtrain/collective.h>
#include <xtrain/remote.h>
#include <xtrain/train.h>
#include <xtrain/plot.h>
#include <xtrain/diag.h>
#include <xtrain/doctor.h>
#include <xtrain/program.h>
#include <xtrain/spelled.h>
#endif
